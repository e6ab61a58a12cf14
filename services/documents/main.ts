import { answerDocument } from './answer-document.ts'

void answerDocument(process.argv[2] ?? '', process.stdin, process.stdout)
