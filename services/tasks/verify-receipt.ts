import { createPublicKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import * as v from 'valibot'
import {
  consistencySchema,
  receiptSchema,
  saltedHash,
  signedHeadSchema,
} from '../platform/receipts/receipt-documents.ts'
import type { Receipt, SignedHead } from '../platform/receipts/receipt-documents.ts'
import { checkConsistency, checkReceipt } from '../platform/receipts/verify-receipt.ts'
import { AppError, toError } from '../shared/errors.ts'
import { guarded, refusalWith } from './resources/options.ts'
import type { Output } from './resources/apply-files.ts'

const VERIFY_USAGE = `Usage: npm run task -- receipt:verify FILE --key PUB [options]

Says whether a receipt holds: its leaf is in the tree of its head, and a key that you trust signed
that head. It asks nothing: no network, no database.

  --key PUB       a public key that you trust, may be repeated: a file in PEM, or as the API has it
  --head FILE     a head that you kept, or a proof of consistency with one, from the API
  --inputs FILE   the inputs of the run as JSON, to compare with the leaf
  --output FILE   the output of the run as text, to compare with the leaf
  --help          print this

Exit code: 0 when all of it holds, 2 when something does not, 3 when the head that you kept is of
another size and the file has no proof of consistency, 1 for anything else.
`

const OPTIONS = {
  key: { type: 'string', multiple: true },
  head: { type: 'string' },
  inputs: { type: 'string' },
  output: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const

const PROVES = `
It proves that the leaf was in the log when this head was signed, and is unchanged since. It does
not prove that the platform recorded what happened, nor that all that happened was recorded: the log
is tamper-evident, not tamper-proof. Compare with heads that you kept elsewhere (--head): whoever
has the key could sign another log.
`

const BROKEN = 2
const NOT_COMPARED = 3

/** Verifies a receipt, prints what was found, and returns the exit code. */
export function verifyReceipt(args: readonly string[], output: Output): number {
  const wrong = refusalWith(VERIFY_USAGE)
  const { values, positionals } = guarded(wrong, () =>
    parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true }),
  )
  if (values.help) return print(output, VERIFY_USAGE)
  const [file, ...more] = positionals
  if (file === undefined || more.length > 0) throw wrong('Name one FILE.')
  if (!values.key) throw wrong('Name a --key that you trust.')
  const keys = values.key.map(readKey)
  const receipt = parse(receiptSchema, readFile(file))
  if (!receipt) return refuse(output, ['the file is not a receipt as the platform makes it'])
  return judge({ ...values, receipt, keys }, output)
}

interface Given extends Texts {
  readonly receipt: Receipt
  readonly keys: readonly string[]
  readonly head?: string | undefined
}

function judge({ receipt, keys, head, ...texts }: Given, output: Output): number {
  const problems = [...checkReceipt(receipt, keys), ...problemsOfTexts(receipt, texts)]
  const differences = head === undefined ? [] : compare(receipt, head, keys)
  problems.push(...(differences ?? []))
  if (problems.length > 0) return refuse(output, problems)
  if (differences) return print(output, `${describe(receipt)}${PROVES}`)
  output.problem(
    'The head that you kept is of another size. Ask the API for a proof of consistency with it, ' +
      'or for the receipt with its size.\n',
  )
  return NOT_COMPARED
}

function refuse(output: Output, problems: readonly string[]): number {
  output.problem(problems.map((problem) => `It does not hold: ${problem}.\n`).join(''))
  return BROKEN
}

function print(output: Output, text: string): 0 {
  output.result(text)
  return 0
}

const describe = ({ index, head }: Receipt): string =>
  `The receipt holds: leaf ${index} of ${head.size}, in the head of ${head.at}.\n`

/** Lists what differs from a head that was kept; undefined where they cannot be compared. */
function compare({ head }: Receipt, file: string, keys: readonly string[]): string[] | undefined {
  const text = readFile(file)
  const proof = parse(consistencySchema, text)
  const isEqual = (other: SignedHead['head']): boolean =>
    other.size === head.size && other.root === head.root && other.log === head.log
  if (proof) {
    const isOurs = isEqual(proof.first.head) || isEqual(proof.second.head)
    const others = isOurs ? [] : ['neither head of the proof of consistency is that of the receipt']
    return [...checkConsistency(proof, keys), ...others]
  }
  const kept = parse(v.union([signedHeadSchema, logLine]), text)
  if (!kept) throw new AppError('invalid_request', `${file} has no head and no proof.`)
  const signed = 'receipt_head' in kept ? kept.receipt_head : kept
  if (signed.head.log === head.log && signed.head.size !== head.size) return undefined
  return isEqual(signed.head) ? [] : ['the head that you kept is another one: the log was changed']
}

const logLine = v.looseObject({ receipt_head: signedHeadSchema })

interface Texts {
  readonly inputs?: string | undefined
  readonly output?: string | undefined
}

/** Compares inputs and an output that the person has with the salted hashes of the leaf. */
function problemsOfTexts({ leaf, opened }: Receipt, given: Texts): string[] {
  const read = { inputs: parseJson, output: (text: string): unknown => text }
  return (['inputs', 'output'] as const).flatMap((name) => {
    const file = given[name]
    if (file === undefined) return []
    if (!opened)
      return [`the ${name} cannot be compared: the run was deleted, and its salt with it`]
    const hash = saltedHash(Buffer.from(opened.salt, 'hex'), name, read[name](readFile(file)))
    return hash === leaf[name] ? [] : [`the ${name} are not those of the run`]
  })
}

function readKey(given: string): string {
  if (/^[0-9a-f]{88}$/.test(given)) return given
  try {
    const key = createPublicKey(readFile(given))
    if (key.asymmetricKeyType === 'ed25519') {
      return key.export({ format: 'der', type: 'spki' }).toString('hex')
    }
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown
  }
  throw new AppError('invalid_request', `${given} is not a public key of Ed25519 in PEM.`)
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    throw new AppError('invalid_request', `${path} cannot be read: ${toError(thrown).message}`)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function parse<Schema extends v.GenericSchema>(
  schema: Schema,
  text: string,
): v.InferOutput<Schema> | undefined {
  const result = v.safeParse(schema, parseJson(text))
  return result.success ? result.output : undefined
}
