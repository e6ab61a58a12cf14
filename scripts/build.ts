import { build } from 'esbuild'
import type { BuildOptions, Plugin } from 'esbuild'
import { existsSync, readdirSync } from 'node:fs'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  buildPythonPackage,
  readPythonPackage,
} from '../services/shared/python-package/python-package.ts'
import { readOptions } from './read-options.ts'

const USAGE = `Usage: npm run build [-- options]

Bundles each service into DIR/<service>/main.js, with its migrations and assets beside it, as the
images have them, and the Python package crew-runtime, as a wheel and as a source archive, into
DIR/python. DIR/doctor.mjs is the doctor as one file, which needs nothing beside it but Node.

  --out DIR    directory to write to (default: build)
  --help       this text
`

/** The folders that programs read when they run, and where each lies beside its bundle. */
const COPIED = {
  'platform/migrations': 'platform/migrations',
  'collector/migrations': 'collector/migrations',
  'web/console/frame/assets': 'web/assets',
  'web/console/automations/snippets': 'web/snippets',
  'web/console/send-traces/settings': 'web/settings',
}

/** The Python package: tasks publish it from its sources, which are beside them. */
const PACKAGE = 'python/crew-runtime'

// Some packages are CommonJS, and call `require` for modules of Node.
const REQUIRE =
  "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

/** The services that have a program of their own. */
const programs = (): string[] =>
  readdirSync('services')
    .map((service) => join('services', service, 'main.ts'))
    .filter(existsSync)

const BUNDLE: BuildOptions = {
  bundle: true,
  platform: 'node',
  // Of an ES module only what is used is bundled: half of OpenTelemetry's SDK is its other form.
  mainFields: ['module', 'main'],
  target: 'node20',
  format: 'esm',
  banner: { js: REQUIRE },
  logLevel: 'warning',
}

/** Parts of packages that nothing here calls, and what stands in their place: they are 190 KB. */
const UNUSED: Readonly<Record<string, string>> = {
  // Types of attachments by their names: no mail has one.
  'nodemailer/dist/esm/mime-funcs/mime-types.js':
    "export const detectMimeType = () => 'application/octet-stream', detectExtension = () => 'bin'",
  // Servers by the names of companies, and Amazon's own protocol: a mailer has the address of one.
  'nodemailer/dist/esm/well-known/index.js': 'export default () => false',
  'nodemailer/dist/esm/ses-transport/index.js': 'export default class {}',
  // Mails go one by one to a server, and nowhere else.
  'nodemailer/dist/esm/smtp-pool/index.js': 'export default class {}',
  'nodemailer/dist/esm/sendmail-transport/index.js': 'export default class {}',
  'nodemailer/dist/esm/stream-transport/index.js': 'export default class {}',
  'nodemailer/dist/esm/json-transport/index.js': 'export default class {}',
  // The address of a server has a user and a password; signatures are for the server to make.
  'nodemailer/dist/esm/xoauth2/index.js': 'export default class {}',
  'nodemailer/dist/esm/dkim/index.js': 'export default class {}',
  // What attachments would be fetched with.
  'nodemailer/dist/esm/fetch/index.js': 'export default () => undefined',
  // Logs are written by the process itself, and metrics are asked for.
  'thread-stream/index.js': 'module.exports = class {}',
  'prom-client/lib/pushgateway.js': 'module.exports = class {}',
  // One process has its metrics, in histograms.
  'prom-client/lib/cluster.js': 'module.exports = class {}',
  'prom-client/lib/summary.js': 'module.exports = class {}',
  // Archived days have no columns of a type that each value brings along.
  'hyparquet/src/variant.js': 'export const decodeVariantColumn = (value) => value',
  'hyparquet-writer/src/variant.js':
    'export const encodeVariantColumn = (values) => values, ' +
    'autoDetectShredding = () => undefined, normalizeShreddingConfig = (config) => config',
}

const withoutUnused: Plugin = {
  name: 'without-unused',
  setup(bundle) {
    const filter = /\/(nodemailer|thread-stream|prom-client|hyparquet(-writer)?)\/.*\.js$/
    bundle.onLoad({ filter }, ({ path }) => {
      const contents =
        UNUSED[path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)]
      return contents === undefined ? undefined : { contents }
    })
  },
}

/** What indents the lines of templates of pages: bytes of the bundle, and of each page. */
const withoutIndents: Plugin = {
  name: 'without-indents',
  setup(bundle) {
    bundle.onLoad({ filter: /\/services\/web\/console\/.*\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      if (!source.includes("from 'hono/html'")) return undefined
      return { contents: source.replaceAll(/^[ \t]+/gm, ''), loader: 'ts' }
    })
  },
}

/** Names stay, and stack traces are read with the maps, which need no sources for that. */
const SMALL: BuildOptions = {
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: true,
  sourcesContent: false,
  plugins: [withoutUnused, withoutIndents],
}

async function bundleServices(out: string): Promise<void> {
  const entryPoints = programs()
  await build({ ...BUNDLE, ...SMALL, entryPoints, outbase: 'services', outdir: out })
  // People copy it to where they need it, without its map.
  const doctor = join('services', 'doctor', 'main.ts')
  await build({ ...BUNDLE, entryPoints: [doctor], outfile: join(out, 'doctor.mjs') })
  await Promise.all(
    Object.entries(COPIED).map(([from, to]) =>
      cp(join('services', from), join(out, to), { recursive: true }),
    ),
  )
}

async function buildPython(out: string): Promise<void> {
  const { version }: { version: string } = JSON.parse(await readFile('package.json', 'utf8'))
  const isSource = (path: string): boolean => !path.includes('__pycache__')
  await cp(PACKAGE, join(out, PACKAGE), { recursive: true, filter: isSource })
  const made = await readPythonPackage(pathToFileURL(`${PACKAGE}/`))
  await mkdir(join(out, 'python'), { recursive: true })
  for (const { filename, content } of buildPythonPackage(made, version)) {
    await writeFile(join(out, 'python', filename), content)
  }
}

const parsed = readOptions(USAGE, {
  options: { out: { type: 'string', default: 'build' }, help: { type: 'boolean' } },
})
// esbuild has said itself what is wrong.
if (parsed) {
  const { out } = parsed.values
  bundleServices(out).catch(() => (process.exitCode = 1))
  void buildPython(out)
}
