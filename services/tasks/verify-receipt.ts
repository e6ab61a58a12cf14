import { parseArgs } from 'node:util'
import {
  consistencySchema,
  receiptSchema,
  saltedHash,
} from '../platform/receipts/receipt-documents.ts'
import type { Receipt, TreeHead } from '../platform/receipts/receipt-documents.ts'
import { checkConsistency, checkReceipt } from '../platform/receipts/verify-receipt.ts'
import { AppError } from '../shared/errors.ts'
import { compareHeads } from './compare-heads.ts'
import { findHead, parse, parseJson, readFile, readKey } from './receipt-files.ts'
import { guarded, refusalWith } from './resources/options.ts'
import type { Output } from './resources/apply-files.ts'

const VERIFY_USAGE = `Usage: npm run task -- receipt:verify FILE --key PUB [options]
       npm run task -- receipt:verify --heads PLACE --heads PLACE --key PUB

Says whether a receipt holds: its leaf is in the tree of its head, and a key that you trust signed
that head. It asks nothing: no network, no database.

  --key PUB       a public key that you trust, may be repeated: a file in PEM, or as the API has it
  --head FILE     a head that you kept, or a proof of consistency with it; may be repeated
  --inputs FILE   the inputs of the run as JSON, to compare with the leaf
  --output FILE   the output of the run as text, to compare with the leaf
  --heads PLACE   instead of a FILE: compares all signed heads of two or more places, each a
                  directory of files, such as receipt-heads of a bucket, or a file with one head,
                  or with the lines of a worker's log
  --help          print this

Exit code: 0 when all of it holds, 2 when something does not, 3 when the head that you kept is of
another size and there is no proof of consistency with it, or heads between those of two places are
missing, 1 for anything else.
`

const OPTIONS = {
  key: { type: 'string', multiple: true },
  head: { type: 'string', multiple: true },
  heads: { type: 'string', multiple: true },
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
  if (values.heads) {
    const isWhole = positionals.length === 0 && values.heads.length > 1 && values.key
    if (!isWhole) throw wrong('Name two places or more with --heads, a --key, and no FILE.')
    return compareHeads(values.heads, (values.key ?? []).map(readKey), output)
  }
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
  const kept = compareWith(receipt, head, keys)
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
function compareWith({ head }: Receipt, files: readonly string[], keys: readonly string[]) {
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
    } else {
      const found = findHead(text)
      if (!found) throw new AppError('invalid_request', `${file} has no head and no proof.`)
      kept.push(found.head)
    }
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
