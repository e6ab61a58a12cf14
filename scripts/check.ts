import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'

const FOLDERS = ['infra', 'scripts', 'services', 'test']
const LOCAL = 'node_modules/.bin/'

/** Each tool with its arguments. They read the sources and change nothing, so all run at once. */
const TOOLS: Record<string, readonly string[]> = {
  [`${LOCAL}tsc`]: [],
  [`${LOCAL}oxlint`]: ['--type-aware', ...FOLDERS],
  [`${LOCAL}oxfmt`]: ['--check', ...FOLDERS],
  [`${LOCAL}knip`]: ['--cache'],
  [`${LOCAL}vitest`]: ['run', '--project', 'architecture'],
}

/** Looks for known vulnerabilities of what `package-lock.json` names, without the network. */
const AUDIT = 'osv-scanner'
const DATABASE = 'OSV_SCANNER_LOCAL_DB_CACHE_DIRECTORY'

if (process.env[DATABASE] === undefined) {
  process.stdout.write(`check: packages are not audited: ${DATABASE} names no database\n`)
} else if (spawnSync(AUDIT, ['--version']).status !== 0) {
  process.stdout.write(`check: packages are not audited: ${AUDIT} is not on the PATH\n`)
} else TOOLS[AUDIT] = ['scan', '--offline', '--lockfile=package-lock.json']

/** Runs a tool, whose output goes straight to the terminal; returns whether it was content. */
async function passes([tool, args]: [string, readonly string[]]): Promise<boolean> {
  const child = spawn(tool, args, {
    // tsc and the types of oxlint are Go programs that end before collecting garbage pays.
    env: { ...process.env, ...(tool === AUDIT ? {} : { GOGC: 'off' }) },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) {
    const hint = /ox(lint|fmt)$/.test(tool) ? ': npm run fix repairs what a tool can' : ''
    process.stderr.write(`check: ${tool.replace(LOCAL, '')} failed${hint}\n`)
  }
  return code === 0
}

void Promise.all(Object.entries(TOOLS).map(passes)).then((results) => {
  if (results.includes(false)) process.exitCode = 1
})
