import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inspectArchive } from '../../../../../services/platform/crews/source-archive/inspect.ts'
import type { InspectOptions } from '../../../../../services/platform/crews/source-archive/inspect.ts'
import { openArchive } from '../../../../../services/platform/crews/source-archive/open-archive.ts'
import { storeArchive } from '../../../../../services/platform/crews/source-archive/store-archive.ts'
import { loadSource } from '../../../../../services/platform/crews/sources.ts'
import { ensureOrganization } from '../../../../../services/platform/people/organizations.ts'
import { toAppError } from '../../../../../services/shared/errors.ts'
import { writeHeader } from '../../../../../services/shared/tar/tar-header.ts'
import { tarGz } from '../../../../support/tar.ts'
import { useDatabase } from '../../../../support/use-database.ts'
import { zip } from '../../../../support/zip.ts'
import { isLong } from '../../../../support/long.ts'

const run = promisify(execFile)
const database = useDatabase({ max: 2 })
let folder: string
let written = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'archives-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function onDisk(archive: Buffer): Promise<string> {
  written += 1
  const path = join(folder, `archive-${written}`)
  await writeFile(path, archive)
  return path
}

const inspect = async (archive: Buffer, options?: InspectOptions) =>
  inspectArchive(await openArchive(await onDisk(archive)), options)

async function refusalOf(archive: Buffer, options?: InspectOptions): Promise<string> {
  try {
    await inspect(archive, options)
  } catch (thrown) {
    const { code, message } = toAppError(thrown)
    return `${code}: ${message}`
  }
  return 'accepted'
}

const PROJECT = '[project]\nname = "a"\nrequires-python = ">=3.10,<3.14"\n'
const CREW = 'from crewai.project import CrewBase\n\n@CrewBase\nclass Acrew:\n    pass\n'
const FILES = [
  { path: 'pyproject.toml', content: PROJECT },
  { path: 'src/a/crew.py', content: CREW },
]
const zipped = (files: readonly { path: string | Buffer; content?: string; mode?: number }[]) =>
  zip(files.map(({ path, content = '', ...rest }) => ({ name: path, content, ...rest })))

describe('an archive', () => {
  it.each([
    ['a link', [{ path: 'a', type: '2' }], /"a" in the archive is a symbolic link/],
    ['a hard link', [{ path: 'a', type: '1' }], /"a" in the archive is a hard link/],
    ['a device', [{ path: 'a', type: '4' }], /is a device\. A source has plain files/],
    ['a pipe', [{ path: 'a', type: '6' }], /is a pipe\./],
    ['a sparse file', [{ path: 'a', type: 'S' }], /is a sparse file\./],
    ['an odd kind', [{ path: 'a', type: 'Z' }], /is of an unknown kind\./],
    ['an absolute path', [{ path: '/etc/passwd' }], /"\/etc\/passwd" in the archive is absolute/],
    ['a drive', [{ path: 'C:/a.py' }], /is absolute/],
    ['a way out', [{ path: 'a/../../b' }], /leads out of its folder with "\.\."/],
    ['a way out of .git', [{ path: '.git/../../b' }], /leads out of its folder/],
    ['a backslash', [{ path: 'a\\b.py' }], /has a backslash/],
    ['a control character', [{ path: 'a\u001b[1m' }], /has a control character/],
    ['a long part', [{ path: `${'é'.repeat(49)}/a`, type: '0' }], undefined],
    ['Latin-1', [{ path: Buffer.from('caf\u00e9.py', 'latin1') }], /"café\.py" .* not in UTF-8/],
    ['a path twice', [{ path: 'a' }, { path: './a' }], /"a" in the archive is there twice/],
    ['a file as a folder', [{ path: 'a' }, { path: 'a/b' }], /is both a file and a folder/],
    ['nothing', [], /The archive has no files/],
    ['nothing but folders', [{ path: 'a/', type: '5' }], /The archive has no files/],
    ['a lie about its size', [{ path: 'a', size: 300_000_000 }], /at most 268435456 bytes/],
    ['no end', [{ path: 'a', size: 5000, content: 'x' }], /cut off/],
  ])('with %s is refused, and says why', async (...[, entries, problem]) => {
    const refusal = await refusalOf(tarGz(entries))
    if (problem) expect(refusal).toMatch(problem)
    else expect(refusal).toMatch(/^unprocessable: The project has no pyproject\.toml/)
  })

  it.each([
    ['a link', [{ path: 'a', content: 'b', mode: 0o120777 }], /is a symbolic link/],
    ['an absolute path', [{ path: '/a' }], /is absolute/],
    ['a way out', [{ path: '../a' }], /leads out/],
    ['a backslash', [{ path: 'a\\b' }], /has a backslash/],
    ['Latin-1', [{ path: Buffer.from('caf\u00e9', 'latin1') }], /is not in UTF-8/],
    ['a path twice', [{ path: 'a' }, { path: 'a' }], /is there twice/],
    ['nothing', [], /The archive has no files/],
  ])('of ZIP with %s is refused as well', async (...[, files, problem]) => {
    expect(await refusalOf(zipped(files))).toMatch(problem)
  })

  it('of ZIP is refused when it is encrypted, lies about a size, or is cut off', async () => {
    const of = (change: object) => zip([{ name: 'a', content: 'text', ...change }])
    expect(await refusalOf(of({ isEncrypted: true }))).toMatch(/"a" .* is encrypted/)
    expect(await refusalOf(of({ size: 2 }))).toMatch(/cut off or damaged/)
    expect(await refusalOf(of({ size: 300_000_000 }))).toMatch(/at most 268435456 bytes/)
    expect(await refusalOf(of({}).subarray(0, 40))).toMatch(/cut off or damaged/)
  })

  it('with more files than a source has is refused before it is read to its end', async () => {
    const many = Array.from({ length: 20_001 }, (_, index) => ({ path: `f${index}` }))
    expect(await refusalOf(tarGz(many))).toMatch(
      /^payload_too_large: A source has at most 20000 files; this archive has more\./,
    )
  })

  it.runIf(isLong)(
    'with a million files that are left out is not read to its end either',
    async () => {
      const path = Buffer.from('node_modules/a')
      const header = writeHeader({ path, type: '0', size: 0, mode: 0o644 })
      const part = gzipSync(Buffer.alloc(512 * 10_000, header))
      const million = Buffer.concat([...Array.from({ length: 100 }, () => part), tarGz(FILES)])
      expect(await refusalOf(million)).toMatch(
        /^payload_too_large: A source has at most 20000 files/,
      )
    },
  )

  it('that grows beyond the limit as it is unpacked is refused', async () => {
    const bomb = [
      { path: 'a', content: 'x' },
      { path: 'b', size: 268_435_456 },
    ]
    expect(await refusalOf(tarGz(bomb))).toMatch(/^payload_too_large: .* at most 268435456 bytes/)
  })

  it.each([
    ['nothing at all', '', 'is empty'],
    ['a text', 'print("hello")', 'is no archive'],
    ['a page', '<!doctype html>', 'is an HTML or XML page, perhaps that of a sign-in'],
    ['bzip2', 'BZh91AY', 'is a bzip2 archive'],
    ['RAR', 'Rar!\u001a', 'is a RAR archive'],
  ])('is a .zip or a .tar.gz, and not %s', async (...[, content, what]) => {
    const refusal = await refusalOf(Buffer.from(content, 'latin1'))
    expect(refusal).toBe(`invalid_request: The source ${what}: send a .zip or a .tar.gz.`)
  })

  it('is refused when its compression is damaged, cut off, or no tar', async () => {
    const good = tarGz([...FILES, { path: 'a', content: 'x'.repeat(10_000) }])
    const damaged = Buffer.from(good)
    damaged[40] = (damaged[40] ?? 0) ^ 0xff
    expect(await refusalOf(good.subarray(0, good.length - 20))).toMatch(/damaged or cut off/)
    expect(await refusalOf(damaged)).toMatch(/^invalid_request: The (\.tar\.gz|tar archive)/)
    expect(await refusalOf(gzipSync('7'.repeat(2000)))).toMatch(/checksum is wrong/)
  })
})

describe('a project', () => {
  const only = (content: string, path = 'main.py') => [
    { path: 'requirements.txt', content: 'requests' },
    { path, content },
  ]
  it.each([
    ['of CrewAI', FILES, { kind: 'crew', requiresPython: '>=3.10,<3.14' }],
    ['with a flow', only('class Mine(Flow[State]):\n  pass'), { kind: 'flow' }],
    ['with a crew in JSON', only('{}', 'crew.jsonc'), { kind: 'crew file' }],
    [
      'that names its function',
      [{ path: 'pyproject.toml', content: "[tool.crew-runtime]\nentrypoint = 'a:b'\n" }],
      { kind: 'entrypoint' },
    ],
    ['with a Dockerfile', [{ path: 'Dockerfile' }], { kind: 'container', hasDockerfile: true }],
    ['with a lock', [...FILES, { path: 'uv.lock' }], { kind: 'crew', hasLock: true }],
  ])('%s is recognized', async (...[, files, facts]) => {
    expect((await inspect(tarGz(files))).facts).toMatchObject(facts)
  })

  it('without a crew is refused, unless the settings name what is run', async () => {
    const archive = tarGz(only('print("hello")'))
    expect(await refusalOf(archive)).toMatch(/^unprocessable: The project has no crew: neither/)
    const { facts } = await inspect(archive, { entrypoint: 'main:run' })
    expect(facts).toEqual({ kind: 'entrypoint' })
  })

  it('without a list of what it needs is refused, with what it has', async () => {
    expect(await refusalOf(tarGz([{ path: 'README.md' }, { path: 'a/b.py' }]))).toBe(
      'unprocessable: The project has no pyproject.toml and no requirements.txt at its top, so ' +
        'what it needs is not known. There are "README.md", "a". Add one, or pack the folder ' +
        'that has it.',
    )
  })

  it('whose pyproject.toml is not in UTF-8 is refused, and told what it is in', async () => {
    for (const [encoding, content] of [
      ['UTF-16', Buffer.from(`\ufeff${PROJECT}`, 'utf16le')],
      ['another encoding', Buffer.from(`${PROJECT}# caf\u00e9\n`, 'latin1')],
    ] as const) {
      const archive = tarGz([{ path: 'pyproject.toml', content }, ...FILES.slice(1)])
      expect(await refusalOf(archive)).toBe(
        `unprocessable: "pyproject.toml" is in ${encoding}, and has to be in UTF-8. Save it as ` +
          'UTF-8, and send it again.',
      )
    }
  })

  it('may be in a folder, which is not part of it', async () => {
    const within = (folder: string) =>
      FILES.map(({ path, content }) => ({ path: `${folder}/${path}`, content }))
    const plain = await inspect(tarGz(FILES))
    const inFolder = await inspect(zipped(within('mine-main').toReversed()))
    expect(inFolder.digest).toEqual(plain.digest)
    expect(inFolder).toMatchObject({ fileCount: 2, root: 'mine-main/' })
    const two = tarGz([...within('crews/one'), { path: 'crews/two/crew.jsonc' }])
    const chosen = await inspect(two, { directory: './crews/one/' })
    expect(chosen.digest).toEqual(plain.digest)
    expect(await refusalOf(two, { directory: 'three' })).toBe(
      'unprocessable: The source has no folder "three".',
    )
  })

  it('leaves out what is made of other files, and secrets, and says so', async () => {
    const { facts, fileCount, digest } = await inspect(
      tarGz([
        ...FILES,
        { path: '.git/HEAD' },
        { path: '.venv/bin/python', type: '2' },
        { path: 'src/a/__pycache__/crew.cpython-312.pyc' },
        { path: '.env', content: 'OPENAI_API_KEY=secret' },
        { path: '.env.example' },
      ]),
    )
    expect(facts).toMatchObject({ leftOut: ['.env', '.git/', '.venv/', 'src/a/__pycache__/'] })
    const many = Array.from({ length: 30 }, (_, at) => ({ path: `data/${at + 10}.pyc` }))
    expect((await inspect(tarGz([...FILES, ...many]))).facts).toMatchObject({
      leftOut: many.slice(0, 20).map(({ path }) => path),
      leftOutMore: 10,
    })
    expect(fileCount).toBe(3)
    expect(digest).not.toEqual((await inspect(tarGz(FILES))).digest)
  })
})

describe('a source that is stored', () => {
  it('is what GNU tar packed, for GNU tar to unpack, without what does not belong', async () => {
    const long = `${'deep/'.repeat(30)}naïve-☃.py`
    const project = join(folder, 'project')
    const files = { 'pyproject.toml': PROJECT, 'src/a/crew.py': CREW, [long]: 'x = 1\n' }
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(project, path)), { recursive: true })
      await writeFile(join(project, path), content)
    }
    await writeFile(join(project, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 })
    await mkdir(join(project, '.venv'))
    await symlink('/usr/bin/python3', join(project, '.venv/python'))
    const { id: organizationId } = await ensureOrganization(database.sql, { name: 'Acme' })
    const owner = { organizationId, uploadedBy: null, name: 'project.tar.gz' }

    const stored = []
    for (const format of ['gnu', 'pax']) {
      const archive = join(folder, `${format}.tar.gz`)
      await run('tar', ['czf', archive, `--format=${format}`, '-C', folder, 'project'])
      stored.push(await storeArchive(database.sql, archive, owner))
    }
    expect(stored[0]).toMatchObject({ fileCount: 4, facts: { kind: 'crew' } })
    expect(stored[1]?.id).toBe(stored[0]?.id)

    const parts: Buffer[] = []
    for await (const part of loadSource(database.sql, stored[0]?.id ?? 0)) parts.push(part)
    const unpacked = join(folder, 'unpacked')
    await mkdir(unpacked)
    const packed = await onDisk(Buffer.concat(parts))
    await run('tar', ['xzf', packed, '-C', unpacked])
    expect(await readFile(join(unpacked, long), 'utf8')).toBe('x = 1\n')
    expect((await stat(join(unpacked, 'run.sh'))).mode & 0o777).toBe(0o755)
    expect((await readdir(unpacked)).toSorted()).toEqual([
      'deep',
      'pyproject.toml',
      'run.sh',
      'src',
    ])
    const again = await storeArchive(database.sql, packed, owner)
    expect(again.id).toBe(stored[0]?.id)
  })
})
