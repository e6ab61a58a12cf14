import { run } from '../shared/run.ts'
import { start } from './start.ts'

void run(start, process.env)
