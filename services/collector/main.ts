import { run } from '../shared/run.ts'
import { runMigration } from './schema.ts'
import { start } from './start.ts'

if (process.argv[2] === 'migrate') await runMigration(process.env)
else await run(start, process.env)
