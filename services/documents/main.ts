import { answerDocument, DAMAGED } from './start.ts'

// A library may raise where nothing waits for it.
process.once('uncaughtException', () => process.stdout.write(JSON.stringify(DAMAGED)))
void answerDocument(process.argv[2] ?? '', process.stdin, process.stdout)
