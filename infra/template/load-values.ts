import { readFileSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import { compileFunction } from 'node:vm'
import type { Document, Node, Scalar, ScalarTag } from 'yaml'
import { isObject } from './json.ts'

/** Reads a file of values: YAML, JSON, or a TypeScript module with one exported object. */
export async function loadValuesFile(path: string): Promise<unknown> {
  const source = readSource(path)
  switch (extname(path)) {
    case '.yaml':
    case '.yml':
    case '.json':
      return readYaml(path, source)
    case '.ts':
    case '.mts':
    case '.js':
    case '.mjs':
      return importModule(path)
    default:
      throw new Error(`${path}: a file of values is .yaml, .json or .ts`)
  }
}

function readSource(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Error(`cannot read ${path}`, { cause })
  }
}

async function importModule(path: string): Promise<unknown> {
  // Loaded on demand: the default values do not need it.
  const [{ build }, { createRequire }] = await Promise.all([
    import('esbuild'),
    import('node:module'),
  ])
  const { outputFiles } = await build({
    entryPoints: [resolve(path)],
    bundle: true,
    packages: 'external',
    platform: 'node',
    // Programs that V8 has kept cannot import what they did not know.
    format: 'cjs',
    write: false,
    logLevel: 'silent',
  }).catch((cause: unknown) => {
    throw new Error(`${path}: ${messageOf(cause)}`, { cause })
  })
  const code = outputFiles[0]?.text ?? ''
  const module: { exports: unknown } = { exports: {} }
  try {
    const run = compileFunction(code, ['exports', 'require', 'module'], { filename: path })
    run(module.exports, createRequire(resolve(path)), module)
  } catch (cause) {
    throw new Error(`${path}: ${messageOf(cause)}`, { cause })
  }
  const { exports } = module
  const [exported, ...others] = isObject(exports) ? Object.values(exports) : []
  if (!isObject(exported) || others.length > 0) {
    throw new Error(`${path}: a module of values exports exactly one object`)
  }
  return exported
}

const messageOf = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause)

type Plain = string | number | boolean | null

const WORDS: ReadonlyMap<string, Plain> = new Map<string, Plain>([
  ...spellings('y', 'yes', 'true', 'on').map((word) => [word, true] as const),
  ...spellings('n', 'no', 'false', 'off').map((word) => [word, false] as const),
  ...['', '~', ...spellings('null')].map((word) => [word, null] as const),
  ...['.nan', '.NaN', '.NAN'].map((word) => [word, NaN] as const),
  ...spellings('inf').flatMap((word) => [
    [`.${word}`, Infinity] as const,
    [`+.${word}`, Infinity] as const,
    [`-.${word}`, -Infinity] as const,
  ]),
])

/** A word in lower case, capitalised, and in upper case. */
function spellings(...words: readonly string[]): readonly string[] {
  return words.flatMap((word) => [
    word,
    `${word.charAt(0).toUpperCase()}${word.slice(1)}`,
    word.toUpperCase(),
  ])
}

const INTEGER = /^([-+]?)(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0[0-7]+|0|[1-9][0-9]*)$/
const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/
const FRACTION = /^\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?$/

/**
 * The meaning of a YAML scalar without quotes to Kubernetes and Helm, which read YAML 1.1 by
 * go-yaml: `yes` is true, `010` is eight, `1_000` a thousand; `1:30` and dates are text.
 */
export function readPlainScalar(text: string): Plain {
  const word = WORDS.get(text)
  if (word !== undefined) return word
  if (text.startsWith('.'))
    return FRACTION.test(text) ? finite(text.replaceAll('_', ''), text) : text
  return /^[-+0-9]/.test(text) ? readNumber(text) : text
}

function readNumber(text: string): Plain {
  const digits = text.replaceAll('_', '')
  const [, sign = '', magnitude] = INTEGER.exec(digits) ?? []
  const value = magnitude === undefined ? undefined : readInteger(sign, magnitude)
  if (value !== undefined) return value
  return FLOAT.test(digits) ? finite(digits, text) : text
}

const MAX_UNSIGNED = 2n ** 64n - 1n
const MAX_SIGNED = 2n ** 63n - 1n

/** Integers of 64 bits; larger ones are floats or text, depending on how they are written. */
function readInteger(sign: string, magnitude: string): number | undefined {
  const octal = /^0([0-7]+)$/.exec(magnitude)?.[1]
  const value = BigInt(octal === undefined ? magnitude.toLowerCase() : `0o${octal}`)
  const bound = sign === '' ? MAX_UNSIGNED : sign === '-' ? MAX_SIGNED + 1n : MAX_SIGNED
  if (value > bound) return undefined
  return Number(sign === '-' ? -value : value)
}

/** The number that some digits write, or the text beyond the range of a float. */
const finite = (digits: string, text = digits): number | string => {
  const value = Number(digits)
  return Number.isFinite(value) ? value : text
}

/**
 * Reads a file of values as Helm does. Text that Helm would silently read as something else than it
 * says, such as the second of two documents or the key `yes`, is an error that names the line.
 */
export async function readYaml(path: string, source: string): Promise<unknown> {
  // Loaded on demand: the default values do not need it.
  const { LineCounter, parseDocument, visit, isNode, isScalar } = await import('yaml')
  const lineCounter = new LineCounter()
  const options = { schema: 'failsafe', merge: true, resolveKnownTags: false, lineCounter }
  const document = parseDocument(source, { ...options, customTags: (tags) => [...tags, plain] })
  refuseErrors(path, document)
  const refuse = (node: Node, problem: string | undefined): void => {
    if (problem === undefined) return
    const { line } = lineCounter.linePos(node.range?.[0] ?? 0)
    throw new Error(`${path}, line ${line}: ${problem}`)
  }
  visit(document, {
    Collection: (_, node) => refuse(node, foreignTag(node)),
    Scalar: (place, node) => {
      refuse(node, foreignTag(node))
      refuse(node, place === 'key' ? misreadKey(node) : noNumber(node))
    },
    Pair: (_, { key }) => {
      if (isNode(key) && !isScalar(key)) refuse(key, 'a key must be a text')
    },
  })
  return document.toJS() ?? {}
}

/** Everything without quotes but the key of a merge, which has a tag of its own. */
const plain: ScalarTag = {
  tag: 'tag:yaml.org,2002:plain',
  default: true,
  test: /^(?!<<$)/,
  resolve: readPlainScalar,
}

const foreignTag = ({ tag }: { tag?: string }): string | undefined =>
  tag === undefined || /^(!|tag:yaml\.org,2002:(str|map|seq))$/.test(tag)
    ? undefined
    : `the tag ${tag} is not supported; write the value itself`

const misreadKey = ({ source, value }: Scalar): string | undefined =>
  typeof value === 'symbol' || String(value) === source
    ? undefined
    : `the key ${source} means ${String(value)} in YAML; write it in quotes`

const noNumber = ({ source, value }: Scalar): string | undefined =>
  typeof value !== 'number' || Number.isFinite(value)
    ? undefined
    : `${source} is no number that a value may have; write it in quotes if it is a text`

function refuseErrors(path: string, { errors: [error] }: Document.Parsed): void {
  if (!error) return
  if (error.code === 'MULTIPLE_DOCS') {
    throw new Error(`${path}: a file of values is one YAML document, and Helm reads the first only`)
  }
  throw new Error(`${path}: ${error.message}`)
}
