import { run } from '../shared/run.ts'
import { start } from './start.ts'

await run(start, process.env)
