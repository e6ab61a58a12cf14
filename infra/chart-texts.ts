import { readFileSync } from 'node:fs'
import type { ChartMetadata } from './template/chart.ts'
import type { Files } from './template/manifests.ts'
import { valuesTable } from './template/values-files.ts'
import { schema } from './values.ts'
import packageJson from '../package.json' with { type: 'json' }
import { calls, callsTo, elsewhere, isProgram, outsiders, programs } from './calls.ts'
import type { Call } from './calls.ts'

const isJob = (name: keyof typeof programs): boolean => 'isJob' in programs[name]

const CIRCLES = [
  ['16', '9'],
  ['9', '21.8'],
  ['23', '21.8'],
]
  .map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3"/>`)
  .join('')

/** The sign of the platform, as the console has it in the browser. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="8" fill="#4f46e5"/>
<g fill="none" stroke="#fff" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round">
<path d="M14.6 11.2 10 19M17.4 11.2 22 19M12 21.8h8"/></g>
<g fill="#fff">${CIRCLES}</g>
</svg>`

/** The changes of this version of the chart that its users should know, for catalogues. */
const CHANGES = [
  'Workers scale by the queue of runs with KEDA, collectors by theirs',
  'Alerts, dashboards and ServiceMonitors come with the chart',
  'global.openshift leaves users and groups of all pods to the cluster',
  'Each upgrade restarts what reads a Secret that was edited by hand',
  'Crews run in a namespace of their own',
  'Resources take any quantity; values that an API server would refuse are refused',
]

/**
 * `Chart.yaml`, without an address: the repository has none to name. The chart has a version of its
 * own; the application's is that of the package.
 */
export const chartMetadata: ChartMetadata = {
  name: 'platform',
  description: 'Self-hosted platform for AI automations, with its trace collector',
  version: '0.6.11',
  appVersion: packageJson.version,
  // Sidecars that start before the init containers (1.29), and AppArmor profiles as a field (1.30).
  kubeVersion: '>=1.30.0-0',
  icon: `data:image/svg+xml;base64,${Buffer.from(ICON).toString('base64')}`,
  keywords: ['ai', 'automation', 'agents', 'crews', 'opentelemetry', 'tracing'],
  maintainers: [{ name: 'The crew-platform authors' }],
  annotations: {
    'artifacthub.io/category': 'ai-machine-learning',
    'artifacthub.io/license': packageJson.license,
    'artifacthub.io/changes': CHANGES.map((change) => `- ${JSON.stringify(change)}\n`).join(''),
  },
}

const read = (path: string): string => readFileSync(`infra/chart/${path}`, 'utf8')

/** The chart's README, with the tables that are derived from the code. */
export const chartReadme = (): string =>
  read('README.md')
    .replace('<!-- network -->', networkTable)
    .replace('<!-- values -->\n', () => valuesTable(schema))

/**
 * The templates that no construct renders: the text after an install, and the pod of `helm test`.
 */
export const handWrittenTemplates = (): Files =>
  new Map([
    ['NOTES.txt', read('NOTES.txt')],
    ['tests/health.yaml', healthTest()],
  ])

/** The pod with its program, line by line at the place and the indentation of `# program`. */
const healthTest = (): string =>
  read('tests/health.yaml').replace(/^( *)# program\n/m, (_, indent: string) =>
    read('tests/health.js').replace(/^(?=.)/gm, indent),
  )

/** The declared calls as a Markdown table: each program that is called, and its callers. */
function networkTable(): string {
  const called = [...new Set(calls.map(({ to }) => to))]
  return ['| To | From |', '|---|---|', ...called.map(row)].join('\n')
}

function row(to: Call['to']): string {
  const callers = callsTo(to).map(({ from }) => from)
  const inside = callers.filter(isProgram)
  // The Jobs, which call once, come last.
  const sorted = [...inside.filter((name) => !isJob(name)), ...inside.filter(isJob)]
  const others = new Set(callers.flatMap((from) => (isProgram(from) ? [] : [from])))
  const phrases = [...others].map((from) => outsiders[from])
  const outside = isProgram(to) ? undefined : elsewhere[to]
  // A bare list has commas; within a sentence its parts are joined by a word.
  const isSentence = outside !== undefined || phrases.length > 0
  const list = sorted.join(isSentence ? ' and ' : ', ')
  const from = [list, ...phrases].filter(Boolean).join('; ')
  return outside ? `| ${outside.name} | ${from}, ${outside.place} |` : `| ${to} | ${from} |`
}
