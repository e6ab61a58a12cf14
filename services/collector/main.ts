import { runCommand } from './commands/run-command.ts'

void runCommand(process.argv.slice(2), process.env)
