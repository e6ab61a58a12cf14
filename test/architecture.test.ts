import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { files, imports, linesOf, matches, ROOMS, root, sources } from './architecture/sources.ts'
import type { Import } from './architecture/sources.ts'
import { DOCUMENTS, readDocument } from './docs/documents.ts'

/** In Python: what makes crews of projects. */
const PYTHON = 'python'
/** The modules of Python that are used there. */
const STANDARD_LIBRARY = new Set(
  (
    'argparse ast asyncio base64 builtins collections contextlib contextvars dataclasses ' +
    'datetime decimal functools hashlib hmac http importlib inspect itertools json os pathlib ' +
    're secrets select shutil signal socket subprocess sys tempfile threading time traceback ' +
    'typing urllib'
  ).split(' '),
)

/**
 * The room of a file: `services/web/sign-in/x.ts` is in `services/web`, `infra/kit/x.ts` in
 * `infra`.
 */
function roomOf(file: string): string {
  const [top = '', second = ''] = file.split('/')
  return top === 'services' ? `services/${second}` : top
}

/** Returns whether a file is in a room of a service, not directly in its folder. */
function isInRoom(service: string, file: string): boolean {
  return file.startsWith(`${service}/`) && file.split('/').length > 3
}

const SERVICES = ['web', 'worker', 'oauth', 'crew', 'tasks', 'doctor', 'verify'].map(
  (name) => `services/${name}`,
)

/** Which rooms a room may import, beside itself. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  infra: [],
  // The constants of the collector's WebAssembly are written from its own tables, the schema of the
  // crew contract from what parses it, that of the diagnostic report from the checks, and the
  // Python package by what publishes it.
  scripts: [
    'services/collector',
    'services/doctor',
    'services/platform',
    'services/shared',
    'services/web',
  ],
  'services/shared': [],
  'services/platform': ['services/shared'],
  'services/collector': ['services/shared'],
  'services/documents': ['services/shared'],
  'services/registry-gate': ['services/shared'],
  ...Object.fromEntries(SERVICES.map((room) => [room, ['services/shared', 'services/platform']])),
  'services/local': ['services/shared', 'services/platform'],
}

/** Programs as text. */
const LONG_LINES = new Set([
  'services/collector/otlp/wasm.ts',
  'services/collector/otlp/json-wasm.ts',
  'services/collector/store/search/signature-wasm.ts',
])

/** The formatter keeps it on one line, however long the path is. */
const IMPORT_OF_ONE_NAME = /^import (type )?\{ \w+ \} from '[^']+'$/

describe('the architecture', () => {
  it('lets every room import only what ARCHITECTURE.md allows', () => {
    const wrong = imports.filter(({ from, to, isTypeOnly }) => {
      const room = roomOf(from)
      if (room === 'test' || from === 'services/local.ts' || room === roomOf(to)) return false
      if (room === 'infra' && isTypeOnly && /^services\/[\w-]+\/env\.ts$/.test(to)) return false
      return to !== 'package.json' && !ALLOWED[room]?.includes(roomOf(to))
    })
    expect(wrong).toEqual([])
  })

  it('keeps the engine of the chart fit to be lifted out', () => {
    const outside = (folder: string, allowed: RegExp): readonly string[] =>
      sources(folder).flatMap((file) =>
        [...readFileSync(join(root, file), 'utf8').matchAll(/(?:from|import\()\s*'([^']+)'/g)]
          .map(([, path = '']) => path)
          .filter((path) => !allowed.test(path))
          .map((path) => `${file}: ${path}`),
      )
    const packages = 'cdk8s|cdk8s-plus-34.*|constructs|esbuild|yaml|node:.*'
    expect(outside('infra/template', new RegExp(`^(\\./[\\w-]+\\.ts|${packages})$`))).toEqual([])
    const engine = '(\\.\\./)+infra/template/.*|\\.\\./support/go-template\\.ts'
    expect(
      outside('test/infra/template', new RegExp(`^(\\./.*|${engine}|vitest|${packages})$`)),
    ).toEqual([])
  })

  it('keeps the engine of resources small, and without a noun', () => {
    const engine = sources('services/web/resources')
    const nouns = imports.filter(
      ({ from, to }) =>
        from.startsWith('services/web/resources/') && to.startsWith('services/web/nouns/'),
    )
    expect(nouns).toEqual([])
    expect(engine.flatMap(linesOf).length).toBeLessThanOrEqual(1500)
  })

  it('lets local.ts take of a service nothing but its start', () => {
    const taken = imports
      .filter(
        ({ from, to }) =>
          from === 'services/local.ts' &&
          /^services\/(web|worker|oauth|crew|tasks|collector)\//.test(to),
      )
      .map(({ to }) => to.split('/').at(-1))
    expect(new Set(taken)).toEqual(new Set(['start.ts']))
  })

  it('has no ring of imports, those of types counted', () => {
    expect(ringsOf(imports)).toEqual([])
  })

  it.each(['services/platform', 'services/collector'])(
    'lets no two rooms of %s import each other',
    (service) => {
      const arrows = imports
        .filter(({ from, to }) => isInRoom(service, from) && isInRoom(service, to))
        .map(({ from, to }) => [from.split('/')[2], to.split('/')[2]])
        .filter(([from, to]) => from !== to)
        .map((arrow) => arrow.join(' > '))
      const back = (arrow: string): string => arrow.split(' > ').toReversed().join(' > ')
      expect([...new Set(arrows)].filter((arrow) => arrows.includes(back(arrow)))).toEqual([])
    },
  )

  it.each([
    ['traces', (room: string) => room === 'services/collector'],
    ['the platform', (room: string) => room !== 'services/collector'],
  ])('has a number of its own for each advisory lock in the database of %s', (_, isThere) => {
    const numbers = sources('services')
      .filter((file) => roomOf(file) === 'services/shared' || isThere(roomOf(file)))
      .flatMap((file) => readFileSync(join(root, file), 'utf8').match(/7_310_452_\d{3}/g) ?? [])
    expect(numbers.length).toBeGreaterThan(3)
    expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([])
  })

  it('has no line over 100 columns', () => {
    const long = [...ROOMS, PYTHON]
      .flatMap((room) => sources(room, room === PYTHON ? /\.py$/ : /\.(ts|js|css|sql)$/))
      .filter((file) => !LONG_LINES.has(file))
      .flatMap((file) =>
        linesOf(file)
          .map((line, index) => ({ at: `${file}:${index + 1}`, line }))
          .filter(({ line }) => /^.{101}/u.test(line) && !IMPORT_OF_ONE_NAME.test(line)),
      )
    expect(long.map(({ at }) => at)).toEqual([])
  })

  it('imports nothing in Python but the standard library', () => {
    // What a project may have, CrewAI and OpenTelemetry, is imported within functions.
    const taken = sources(PYTHON, /\.py$/).flatMap((file) =>
      matches(readFileSync(join(root, file), 'utf8'), /^(?:from|import) (\w+)/gm),
    )
    expect([...new Set(taken)].filter((name) => !STANDARD_LIBRARY.has(name))).toEqual([])
  })

  it('keeps HTTP out of the domain', () => {
    const text = sources('services/platform').map((file) => readFileSync(join(root, file), 'utf8'))
    expect(text.filter((each) => /from '(hono|node:http)/.test(each))).toEqual([])
  })

  it('reads process.env only where a process begins', () => {
    const readers = ['infra', 'services']
      .flatMap((room) => sources(room))
      .filter((file) => /process\.env/.test(readFileSync(join(root, file), 'utf8')))
    expect(readers.filter((file) => !/(^|\/)(main|local)\.ts$/.test(file))).toEqual([])
  })

  it('names only files that exist in its documents', () => {
    const missing = DOCUMENTS.filter((name) => !name.startsWith('test/')).flatMap((document) => {
      const named = matches(
        readDocument(document),
        /`((?:infra|scripts|services|test|dist|docs)\/[\w./-]+?)\/?`/g,
      )
      return named.filter((path) => !exists(path)).map((path) => `${document}: ${path}`)
    })
    expect(missing).toEqual([])
  })

  it('cites only sections of docs/contract.md and rows of docs/attacks.md', () => {
    const contract = readFileSync(join(root, 'docs/contract.md'), 'utf8')
    const attacks = readFileSync(join(root, 'docs/attacks.md'), 'utf8')
    const known = new Set([
      ...matches(contract, /^##+ ([\d.]+?)\.? /gm).map((section) => `SPEC ${section}`),
      ...matches(contract, /^- \*\*([\d.]+)\*\*/gm).map((section) => `SPEC ${section}`),
      ...matches(contract, /^- \*\*Appendix (\d)\*\*/gm).map((item) => `SPEC appendix ${item}`),
      ...matches(attacks, /^\| (J\d+) \|/gm),
    ])
    const wrong = files
      .filter((file) => file !== 'test/architecture.test.ts')
      .flatMap((file) => citationsOf(file).filter(({ cited }) => !known.has(cited)))
    expect(wrong).toEqual([])
  })

  it('pins every dependency to one version', () => {
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    )
    const versions = Object.values({ ...dependencies, ...devDependencies, ...optionalDependencies })
    expect(
      versions.filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version))),
    ).toEqual([])
  })

  it('names in ARCHITECTURE.md each room of the domain', () => {
    const folders = readdirSync(join(root, 'services/platform'), { withFileTypes: true })
    const rooms = folders.filter((each) => each.isDirectory()).map(({ name }) => name)
    const row = linesOf('ARCHITECTURE.md').find((line) => line.startsWith('| `services/platform`'))
    const unnamed = rooms.filter((name) => name !== 'migrations' && !row?.includes(`\`${name}\``))
    expect(unnamed, 'Say in the row of `services/platform` what is in it.').toEqual([])
  })

  it('says in ARCHITECTURE.md why each runtime dependency is there', () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
    expect(Object.keys(dependencies).filter((name) => !text.includes(`\`${name}\``))).toEqual([])
  })
})

/**
 * The files that import each other in a ring, directly or through others: each group with more than
 * one member, or a file that imports itself (strongly connected components after Tarjan).
 */
function ringsOf(edges: readonly Import[]): string[][] {
  const next = new Map<string, Import[]>()
  for (const edge of edges) next.set(edge.from, [...(next.get(edge.from) ?? []), edge])
  const order = new Map<string, number>()
  const path: string[] = []
  const rings: string[][] = []
  /** Returns the earliest file of the path that this one leads back to, by its number. */
  function visit(file: string): number {
    const number = order.size
    order.set(file, number)
    path.push(file)
    const reached = (next.get(file) ?? []).map(({ to }) =>
      order.has(to) ? numberOnPath(to) : visit(to),
    )
    const earliest = Math.min(number, ...reached)
    if (earliest === number) {
      const group = path.splice(path.indexOf(file))
      if (group.length > 1 || next.get(file)?.some(({ to }) => to === file)) rings.push(group)
    }
    return earliest
  }
  const numberOnPath = (file: string): number =>
    path.includes(file) ? (order.get(file) ?? 0) : Number.POSITIVE_INFINITY
  for (const file of next.keys()) if (!order.has(file)) visit(file)
  return rings
}

function exists(path: string): boolean {
  try {
    readdirSync(join(root, path))
    return true
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ENOTDIR'
  }
}

/** The contract sections (`SPEC 4.1, 5.1`, `SPEC appendix 5`) and attacks (`J19`) a file cites. */
function citationsOf(file: string): { file: string; cited: string }[] {
  const text = readFileSync(join(root, file), 'utf8')
  const lists = matches(text, /\bSPEC ((?:appendix )?\d[\d.]*(?:, \d[\d.]*)*)/g)
  const sections = lists.flatMap((list) =>
    list.split(', ').map((section) => `SPEC ${section.replace(/\.$/, '')}`),
  )
  const attacks = matches(text, /['(, ](J\d{1,2})[ ),']/g)
  return [...sections, ...attacks].map((cited) => ({ file, cited }))
}
