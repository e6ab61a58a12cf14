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
import type { Receipt, TreeHead } from '../platform/receipts/receipt-documents.ts'
import { checkConsistency, checkReceipt } from '../platform/receipts/verify-receipt.ts'
import { AppError, toError } from '../shared/errors.ts'
import { publicKeySchema } from '../shared/signed-documents.ts'
import { guarded, refusalWith } from './resources/options.ts'
import type { Output } from './resources/apply-files.ts'

const VERIFY_USAGE = `Usage: npm run task -- receipt:verify FILE --key PUB [options]

Says whether a receipt holds: its leaf is in the tree of its head, and a key that you trust signed
that head. It asks nothing: no network, no database.

  --key PUB       a public key that you trust, may be repeated: a file in PEM, or as the API has it
  --head FILE     a head that you kept, or a proof of consistency with it; may be repeated
  --inputs FILE   the inputs of the run as JSON, to compare with the leaf
  --output FILE   the output of the run as text, to compare with the leaf
  --help          print this

Exit code: 0 when all of it holds, 2 when something does not, 3 when the head that you kept is of
another size and there is no proof of consistency with it, 1 for anything else.
`

const OPTIONS = {
  key: { type: 'string', multiple: true },
  head: { type: 'string', multiple: true },
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
  readonly head?: readonly string[] | undefined
}

function judge({ receipt, keys, head = [], ...texts }: Given, output: Output): number {
  const problems = [...checkReceipt(receipt, keys), ...problemsOfTexts(receipt, texts)]
  const kept = compareHeads(receipt, head, keys)
  problems.push(...kept.problems)
  if (problems.length > 0) return refuse(output, problems)
  if (kept.areAllCompared) return print(output, `${describe(receipt)}${PROVES}`)
  output.problem(
    'A head that you kept is of another size. Ask the API for a proof of consistency with it, ' +
      'and give both, or for the receipt with its size.\n',
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

const describe = ({ leaf, index, head }: Receipt): string =>
  `The receipt of ${nameOf(leaf)} holds: leaf ${index} of ${head.size}, ` +
  `in the head of ${head.at}.\n`

const nameOf = ({ kind, id }: Receipt['leaf']): string =>
  kind === 'audit' ? `entry ${id} of the audit` : `${kind} ${id}`

/** Compares the head of a receipt with heads that were kept, by way of proofs of consistency. */
function compareHeads({ head }: Receipt, files: readonly string[], keys: readonly string[]) {
  const problems: string[] = []
  const known = [head]
  const kept: TreeHead[] = []
  for (const file of files) {
    const text = readFile(file)
    const proof = parse(consistencySchema, text)
    if (proof) {
      const ends = [proof.first.head, proof.second.head]
      problems.push(...checkConsistency(proof, keys))
      if (!ends.some((end) => isSame(end, head))) problems.push(`${file} is about other heads`)
      known.push(...ends)
    } else kept.push(readHead(file, text))
  }
  for (const each of kept) {
    const other = each.log !== head.log || known.some(({ size }) => size === each.size)
    if (other && !known.some((of) => isSame(of, each))) {
      problems.push(
        `the head of size ${each.size} that you kept is another one: the log was changed`,
      )
    }
  }
  const isKnown = ({ size }: TreeHead): boolean => known.some((each) => each.size === size)
  return { problems, areAllCompared: kept.every(isKnown) }
}

const isSame = (one: TreeHead, other: TreeHead): boolean =>
  one.log === other.log && one.size === other.size && one.root === other.root

function readHead(file: string, text: string): TreeHead {
  const found = parse(v.union([signedHeadSchema, logLine, message]), text)
  if (!found) throw new AppError('invalid_request', `${file} has no head and no proof.`)
  return found.head
}

/** A line of a worker's log, and the message of a webhook. */
const logLine = v.pipe(
  v.looseObject({ receipt_head: signedHeadSchema }),
  v.transform(({ receipt_head: head }) => head),
)
const message = v.pipe(
  v.looseObject({ data: v.looseObject(signedHeadSchema.entries) }),
  v.transform(({ data }) => data),
)

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
  if (v.safeParse(publicKeySchema, given).success) return given
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
