/**
 * `npm run assemble [-- DIRECTORY]`: writes what the collector's transcoder generates from its
 * tables, `otlp/assembly/constants.ts`, and what it, the rewriter of JSON and the signatures of
 * texts compile to, `otlp/wasm.ts`, `otlp/json-wasm.ts` and `store/search/signature-wasm.ts`, to
 * `services/collector` or to another directory. With `--check` it compiles nothing, and fails where
 * these are not from the sources as they are.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import packageJson from '../package.json' with { type: 'json' }
import { RESERVED_BYTES, RESERVED_FOR_ROWS } from '../services/collector/otlp/memory.ts'
import {
  JSON_FORMS,
  JSON_MESSAGES,
  KNOWN_MESSAGES,
} from '../services/collector/otlp/json-fields.ts'
import * as limits from '../services/collector/otlp/limits.ts'
import { JSON_PROBLEMS, MALFORMATIONS, REFUSALS } from '../services/collector/otlp/problems.ts'
import { OWN_TAGS, REQUEST_TAGS, WIRE_TYPES } from '../services/collector/otlp/tags.ts'
import { RESERVED_FOR_HASHES } from '../services/collector/store/search/signature.ts'

type Constant = readonly [name: string, value: number]

const root = fileURLToPath(new URL('../', import.meta.url))
const collector = join(root, 'services/collector')
const CONSTANTS = 'otlp/assembly/constants.ts'
const NOTE = 'Written by `npm run assemble`: never edited.'

/** `droppedLinksCount` as `DROPPED_LINKS_COUNT`. */
const upper = (name: string): string => name.replaceAll(/[A-Z]/g, '_$&').toUpperCase()

const tagConstants: readonly Constant[] = [REQUEST_TAGS, OWN_TAGS].flatMap((messages) =>
  Object.entries<Record<string, number>>(messages).flatMap(([message, fields]) =>
    Object.entries(fields).map(([field, tag]): Constant => [upper(`${message}_${field}`), tag]),
  ),
)
const typeConstants: readonly Constant[] = Object.entries(WIRE_TYPES).map(([name, type]) => [
  `TYPE_${name.toUpperCase()}`,
  type,
])
const refusalConstants = REFUSALS.map((name, index): Constant => [
  `REFUSED_${name.toUpperCase()}`,
  index + 1,
])
const malformationConstants = Object.keys(MALFORMATIONS).map((name, index): Constant => [
  name.toUpperCase(),
  index,
])
const jsonProblemConstants = Object.keys(JSON_PROBLEMS).map((name, index): Constant => [
  name.toUpperCase(),
  index + 1,
])
const formConstants = JSON_FORMS.map((name, index): Constant => [
  `FORM_${name.toUpperCase()}`,
  index + 1,
])
const messageConstants = KNOWN_MESSAGES.map((name): Constant => [
  `MESSAGE${upper(`_${name}`)}`,
  Object.keys(JSON_MESSAGES).indexOf(name),
])

function lines(title: string, constants: readonly Constant[]): string {
  const declarations = constants.map(([name, value]) => {
    const type = value < 2 ** 32 ? 'u32' : 'u64'
    return `export const ${name}: ${type} = ${value}\n`
  })
  return `\n// ${title}\n${declarations.join('')}`
}

const constants =
  `/** ${NOTE} */\n` +
  lines('tags.ts: how fields lie on the wire.', typeConstants) +
  lines('tags.ts: fields by message.', tagConstants) +
  lines('limits.ts.', Object.entries(limits)) +
  lines('problems.ts: why a span is refused; 0 when it is not.', refusalConstants) +
  lines('problems.ts: why a body is refused.', malformationConstants) +
  lines('problems.ts: why a value in JSON is; 0 when it is not.', jsonProblemConstants) +
  lines('json-fields.ts: how fields are in JSON.', formConstants) +
  lines('json-fields.ts: the messages.', messageConstants)

interface Module {
  readonly file: string
  readonly name: string
  readonly sources: string
  /** Of the sources. */
  readonly entry: string
  /** Between which places of its block it has memory of its own. */
  readonly memory: readonly [from: number, end: number]
}

const MODULES: readonly Module[] = [
  {
    file: 'otlp/wasm.ts',
    name: 'WASM',
    sources: 'otlp/assembly',
    entry: 'index.ts',
    memory: [0, RESERVED_FOR_ROWS],
  },
  {
    file: 'otlp/json-wasm.ts',
    name: 'JSON_WASM',
    sources: 'otlp/assembly',
    entry: 'json/index.ts',
    memory: [RESERVED_FOR_ROWS, RESERVED_BYTES],
  },
  {
    file: 'store/search/signature-wasm.ts',
    name: 'SIGNATURE_WASM',
    sources: 'store/search/assembly',
    entry: 'index.ts',
    memory: [0, RESERVED_FOR_HASHES],
  },
]

const OPTIONS =
  '--optimizeLevel 3 --noAssert --runtime stub --enable simd --importMemory --zeroFilledMemory'

const optionsOf = ({ memory: [from, end] }: Module): string[] =>
  `${OPTIONS} --memoryBase ${from} --lowMemoryLimit ${end}`.split(' ')

/** A module as base64. */
function compile(module: Module): string {
  const directory = mkdtempSync(join(tmpdir(), 'assembly-'))
  const outFile = join(directory, 'module.wasm')
  try {
    const asc = join(root, 'node_modules/assemblyscript/bin/asc.js')
    const source = join(collector, module.sources, module.entry)
    const options = [...optionsOf(module), '--outFile', outFile]
    execFileSync(process.execPath, [asc, source, ...options], { stdio: 'inherit' })
    return readFileSync(outFile).toString('base64')
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** The digest of what a module is compiled from, by what, and to what. */
function digestOf(module: Module, base64: string): string {
  const made = [packageJson.devDependencies.assemblyscript, module.entry, ...optionsOf(module)]
  const hash = createHash('sha256').update(JSON.stringify(made))
  const sources = join(collector, module.sources)
  const names = readdirSync(sources, { recursive: true, encoding: 'utf8' })
  for (const name of names.filter((each) => each.endsWith('.ts')).toSorted()) {
    const path = join(sources, name)
    hash.update(name).update(name === 'constants.ts' ? constants : readFileSync(path))
  }
  return hash.update(base64).digest('hex')
}

const textOf = (module: Module, base64: string): string =>
  `/** ${NOTE} */\n// Sources and module: ${digestOf(module, base64)}\n` +
  `export const ${module.name} =\n  '${base64}'\n`

/** Whether a module is compiled from the sources as they are, without compiling them. */
function isFresh(module: Module): boolean {
  const found = readFileSync(join(collector, module.file), 'utf8')
  return found === textOf(module, /'(.+)'/.exec(found)?.[1] ?? '')
}

function check(): void {
  const stale: string[] = MODULES.filter((module) => !isFresh(module)).map(({ file }) => file)
  if (readFileSync(join(collector, CONSTANTS), 'utf8') !== constants) stale.push(CONSTANTS)
  if (stale.length === 0) return
  console.error(`stale: ${stale.join(', ')}; run \`npm run assemble\` and commit what it writes`)
  process.exitCode = 1
}

function write(target: string): void {
  const files = [CONSTANTS, ...MODULES.map(({ file }) => file)]
  for (const file of files) mkdirSync(join(target, dirname(file)), { recursive: true })
  writeFileSync(join(target, CONSTANTS), constants)
  for (const module of MODULES) {
    writeFileSync(join(target, module.file), textOf(module, compile(module)))
  }
}

const [target = collector] = process.argv.slice(2)
if (target === '--check') check()
else write(target)
