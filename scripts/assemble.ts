/**
 * `npm run assemble [-- DIRECTORY]`: writes what the collector's transcoder generates from its
 * tables, `assembly/constants.ts`, and what it and the rewriter of JSON compile to, `wasm.ts` and
 * `json-wasm.ts`, to `services/collector/otlp` or to another directory.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RESERVED_BYTES, RESERVED_FOR_ROWS } from '../services/collector/memory.ts'
import {
  JSON_FORMS,
  JSON_MESSAGES,
  KNOWN_MESSAGES,
} from '../services/collector/otlp/json-fields.ts'
import * as limits from '../services/collector/otlp/limits.ts'
import { JSON_PROBLEMS, MALFORMATIONS, REFUSALS } from '../services/collector/otlp/problems.ts'
import { OWN_TAGS, REQUEST_TAGS, WIRE_TYPES } from '../services/collector/otlp/tags.ts'

type Constant = readonly [name: string, value: number]

const root = fileURLToPath(new URL('../', import.meta.url))
const otlp = join(root, 'services/collector/otlp')
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

/** The module of an entry, whose own memory is between two places of the block, as base64. */
function compile(entry: string, [from, end]: readonly [number, number]): string {
  const directory = mkdtempSync(join(tmpdir(), 'assembly-'))
  const outFile = join(directory, 'module.wasm')
  try {
    const asc = join(root, 'node_modules/assemblyscript/bin/asc.js')
    const options = ['--optimizeLevel', '3', '--noAssert', '--runtime', 'stub', '--enable', 'simd']
    const memory = [
      '--importMemory',
      '--zeroFilledMemory',
      '--memoryBase',
      String(from),
      '--lowMemoryLimit',
      String(end),
    ]
    const source = join(otlp, 'assembly', entry)
    execFileSync(process.execPath, [asc, source, ...options, ...memory, '--outFile', outFile], {
      stdio: 'inherit',
    })
    return readFileSync(outFile).toString('base64')
  } finally {
    rmSync(directory, { recursive: true })
  }
}

const [target = otlp] = process.argv.slice(2)
mkdirSync(join(target, 'assembly'), { recursive: true })
writeFileSync(join(target, 'assembly/constants.ts'), constants)
const module = (name: string, base64: string): string =>
  `/** ${NOTE} */\nexport const ${name} =\n  '${base64}'\n`
const wasm = compile('index.ts', [0, RESERVED_FOR_ROWS])
const jsonWasm = compile('json/index.ts', [RESERVED_FOR_ROWS, RESERVED_BYTES])
writeFileSync(join(target, 'wasm.ts'), module('WASM', wasm))
writeFileSync(join(target, 'json-wasm.ts'), module('JSON_WASM', jsonWasm))
