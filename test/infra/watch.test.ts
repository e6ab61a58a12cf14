import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createScratchRepository } from '../scripts/scratch-repository.ts'

const VALUES = 'my-values.yaml'

let directory = ''
let synth: ChildProcessByStdio<null, Readable, Readable> | undefined
let printed: AsyncIterator<string>

const path = (name: string): string => join(directory, name)

beforeAll(async () => {
  directory = createScratchRepository(['infra', 'services', 'scripts', 'package.json', 'LICENSE'])
  await writeFile(path(VALUES), 'web: { replicaCount: 2 }\n')
  const args = ['scripts/bundle-and-run.cjs', 'infra/main.ts', '--watch', '--values', VALUES]
  synth = spawn(process.execPath, args, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] })
  printed = synth.stdout.setEncoding('utf8')[Symbol.asyncIterator]()
  expect(await nextRendering()).toBe('dist: rendered\n')
}, 60_000)

afterAll(async () => {
  if (!synth || synth.exitCode !== null) return
  synth.kill()
  await once(synth, 'exit')
})

/** What is printed until the next rendering is done. */
async function nextRendering(): Promise<string> {
  let text = ''
  while (!/^dist: (rendered in \d+ ms|not rendered)\n$/m.test(text)) {
    const { value, done } = await printed.next()
    if (done) throw new Error(`the program ended after ${text}`)
    text += value
  }
  return text.replace(/ in \d+ ms/, '')
}

async function change(name: string, from: string | RegExp, to: string): Promise<string> {
  const text = await readFile(path(name), 'utf8')
  expect(text).toMatch(from)
  const next = nextRendering()
  await writeFile(path(name), text.replace(from, to))
  return next
}

const web = (): Promise<string> => readFile(path('dist/09-web.yaml'), 'utf8')

it('says which object a changed value changes, and where', async () => {
  expect(await change(VALUES, '2', '3')).toBe(
    '~ Deployment platform-web\n    spec.replicas: 2 → 3\ndist: rendered\n',
  )
  expect(await web()).toContain('replicas: 3')
})

it('sees a file that an editor replaces', async () => {
  await writeFile(path('my-values.yaml~'), 'web: { replicaCount: 4 }\n')
  const next = nextRendering()
  await rename(path('my-values.yaml~'), path(VALUES))
  expect(await next).toContain('spec.replicas: 3 → 4')
})

it('says a mistake, keeps what it wrote, and is ready for its repair', async () => {
  expect(await change(VALUES, 'replicaCount', 'replicaCoun')).toBe(
    'The values are not valid:\n' +
      '  - web.replicaCoun: unknown key; did you mean replicaCount? [my-values.yaml]\n' +
      'dist: not rendered\n',
  )
  expect(await web()).toContain('replicas: 4')
  expect(await change(VALUES, 'replicaCoun', 'replicaCount')).toBe('dist: rendered\n')
})

it('renders a changed source, and names the template that it changes', async () => {
  const said = await change(
    'infra/web.ts',
    'automountServiceAccountToken: noted(',
    'hostNetwork: true, $&',
  )
  expect(said).toBe(
    '~ Deployment platform-web\n    spec.template.spec.hostNetwork: (nothing) → true\n' +
      '  chart/templates/web/deployment.yaml: differs\ndist: rendered\n',
  )
})

it('renders what a module deep below the components changes', async () => {
  const said = await change(
    'infra/values.ts',
    "string('platform', 'First path",
    "string('crews', 'First path",
  )
  expect(said).toContain('PLATFORM_API_PREFIX')
  expect(said).toContain('  chart/values.yaml: differs\n')
})

it('names the line of a source that does not compile, and renders its repair', async () => {
  const broken = await change('infra/web.ts', 'import { Construct }', 'import { { Construct }')
  expect(broken).toMatch(/infra\/web\.ts:\d+:\d+: ERROR/)
  const repaired = await change('infra/web.ts', 'import { { Construct }', 'import { Construct }')
  expect(repaired).toBe('dist: rendered\n')
})

it('renders a changed text of the chart, and changed alerts', async () => {
  expect(await change('infra/chart/NOTES.txt', /$/, 'One more line.\n')).toBe(
    '  chart/templates/NOTES.txt: differs\ndist: rendered\n',
  )
  const alerts = 'services/worker/observability/alerts.yaml'
  expect(await change(alerts, 'severity: critical', 'severity: warning')).toMatch(
    /^ {2}chart\/templates\/monitoring\/\S+: differs\ndist: rendered\n$/,
  )
})
