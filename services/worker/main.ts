import { runCommand } from './run-command.ts'

void runCommand(process.argv.slice(2), process.env)
