import { spawn } from 'node:child_process'
import { once } from 'node:events'

const USAGE = `Usage: npm run test:long -- [PART] [options]

Tests that take longer than npm test. Without a part: all that npm test tries a few of. Options are
those of vitest, or of the part where it is a program; then it has a --help of its own.

  adapter    projects behind the Python package crew-runtime, in three versions of CrewAI
  agents     clients of MCP and A2A, and senders of webhooks, as others publish them
  browser    each page, in each state, width and colour scheme
  clients    clients that generators make from /openapi.json
  crewai     the corpus of projects, in CrewAI itself
  crews      crews as processes, and all that goes wrong with them
  gateway    models of other forms, behind LiteLLM
  keycloak   a Keycloak as identity provider, issuer of workloads, and token service
  sdks       the programs of the page Send traces
  citus      the collector on a Citus (program)
  cluster    an installation on a Kubernetes (program)
  faults     programs and databases that are killed under load (program)
  fuzz       the chart and the manifests with random values (program)
  upgrade    an upgrade under load from the release before, and back (program)
`

/** Test files, and the variables that ask for their longer form where they are not set. */
interface Files {
  readonly env: Readonly<Record<string, string>>
  readonly files: readonly string[]
}

const ALL: Files = { env: { LONG_FORMS: 'all', FUZZ_RUNS: '500' }, files: [] }

const FILES: Readonly<Record<string, Files>> = {
  adapter: { env: { ADAPTER: 'all' }, files: ['test/python/crewai.test.ts'] },
  agents: { env: { AGENTS: 'all' }, files: ['mcp/other-clients', 'a2a/python-client'] },
  browser: {
    env: { BROWSER: 'all' },
    files: ['console/accessibility', 'browser.test', 'console/traces', 'send-traces.test'],
  },
  clients: { env: { CLIENTS: 'all' }, files: ['test/services/web/api/openapi/clients.test.ts'] },
  crewai: {
    env: { CREWAI: 'live' },
    files: ['test/services/platform/projects/crewai/oracle.test.ts'],
  },
  crews: {
    env: { CREWS: 'all' },
    files: ['test/services/local-crews.test.ts', 'test/services/worker/deployments'],
  },
  gateway: { env: { GATEWAY: 'live' }, files: ['test/services/crew/gateway'] },
  keycloak: { env: { KEYCLOAK: '26.7.3' }, files: ['test/services/keycloak.test.ts'] },
  sdks: { env: { SDKS: 'all' }, files: ['test/services/web/console/send-traces/sdks.test.ts'] },
}

const TSX = ['--import', 'tsx']
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  citus: [...TSX, 'test/citus/main.ts'],
  cluster: [...TSX, 'test/cluster/main.ts'],
  faults: [...TSX, 'test/faults/main.ts'],
  fuzz: ['scripts/bundle-and-run.cjs', 'test/infra/fuzz.ts'],
  upgrade: [...TSX, 'test/upgrade/main.ts'],
}

/** Runs Node to its end, which a signal makes it come to in its own way; returns the exit code. */
async function runNode(args: readonly string[], env: Files['env'] = {}): Promise<number> {
  const child = spawn(process.execPath, args, {
    stdio: 'inherit',
    env: { ...env, ...process.env },
  })
  // A terminal interrupts both; of what else ends this process, the child would not know.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => void child.kill('SIGTERM'))
  const [code]: unknown[] = await once(child, 'exit')
  return typeof code === 'number' ? code : 1
}

async function main([part = '', ...rest]: readonly string[]): Promise<number> {
  const program = PROGRAMS[part]
  if (program) return runNode([...program, ...rest])
  if (part === '--help') return (process.stdout.write(USAGE), 0)
  const isOption = part === '' || part.startsWith('-')
  const files = isOption ? ALL : FILES[part]
  if (!files) {
    process.stderr.write(`There is no part ${JSON.stringify(part)}.\n\n${USAGE}`)
    return 2
  }
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...files.files]
  const options = part.startsWith('-') ? [part, ...rest] : rest
  return runNode([...vitest, ...options], files.env)
}

process.exitCode = await main(process.argv.slice(2))
