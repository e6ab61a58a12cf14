import type { EnvSource } from '../shared/env.ts'
import { AppError } from '../shared/errors.ts'
import { verifyCrew } from './checks.ts'
import type { Finding } from './checks.ts'
import { readOptions, USAGE } from './options.ts'
import type { VerifyOptions } from './options.ts'
import { startStandInModel } from './stand-in-model.ts'
import { explain } from './surroundings.ts'

const EXIT = { ok: 0, fail: 1, unreachable: 3, misused: 64 } as const

/** Where the command writes. */
interface Output {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/** Runs the `crew:verify` command and returns its exit code. Each finding is written at once. */
export async function runVerify(
  args: readonly string[],
  env: EnvSource,
  { out, err }: Output,
): Promise<number> {
  const options = tryRead(args, env)
  if (typeof options === 'string') {
    err(`${options}\n\n${USAGE}`)
    return EXIT.misused
  }
  if (!options) {
    out(USAGE)
    return EXIT.ok
  }
  const findings: Finding[] = []
  try {
    for await (const finding of verify(options)) {
      findings.push(finding)
      if (!options.json) out(toLines(finding))
    }
  } catch (thrown) {
    err(`The crew at ${plain(options.url)} cannot be asked: ${plain(explain(thrown))}\n`)
    return EXIT.unreachable
  }
  const failed = findings.filter(({ status }) => status === 'fail')
  if (options.json) out(`${JSON.stringify({ url: options.url, findings }, null, 2)}\n`)
  else out(summaryOf(findings.length, failed.length))
  return failed.length > 0 ? EXIT.fail : EXIT.ok
}

async function* verify(options: VerifyOptions): AsyncGenerator<Finding> {
  const model = options.models.length > 0 ? await startStandInModel(options.listen) : undefined
  try {
    yield* verifyCrew(options, model)
  } finally {
    await model?.close()
  }
}

function tryRead(args: readonly string[], env: EnvSource): VerifyOptions | undefined | string {
  try {
    return readOptions(args, env)
  } catch (thrown) {
    if (thrown instanceof AppError) return thrown.message
    throw thrown
  }
}

function toLines({ check, status, problems, note }: Finding): string {
  const head = `  ${status.padEnd(8)} ${check.padEnd(24)} ${plain(note)}`.trimEnd()
  return [head, ...problems.map((problem) => `${' '.repeat(11)}→ ${plain(problem)}`), ''].join('\n')
}

const summaryOf = (checks: number, failed: number): string =>
  failed === 0
    ? `\nThe crew speaks the contract: ${checks} checks.\n`
    : `\n${failed} of ${checks} checks failed. docs/crew-contract.md has the rules.\n`

/** Without the characters that a terminal obeys: a crew wrote some of this. */
const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
