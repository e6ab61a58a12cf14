import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import postgres from 'postgres'

const CONCURRENCY = { dbos: 50, 'graphile-worker': 20 } as const

/** Does so much work. */
type Do = (count: number) => Promise<void>

interface Dbos {
  setConfig(config: object): void
  registerWorkflow(flow: () => Promise<void>, options: object): () => Promise<void>
  runStep(step: () => Promise<unknown>, options: object): Promise<unknown>
  launch(): Promise<void>
}

async function startDbos(load: NodeJS.Require, url: string): Promise<Do> {
  const { DBOS } = load('@dbos-inc/dbos-sdk') as { DBOS: Dbos }
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, logLevel: 'error' })
  const flow = DBOS.registerWorkflow(
    async () => {
      await DBOS.runStep(async () => 1, { name: 'one' })
      await DBOS.runStep(async () => 2, { name: 'two' })
    },
    { name: 'flow' },
  )
  await DBOS.launch()
  return async (count) => {
    let begun = 0
    const work = async () => {
      while (begun++ < count) await flow()
    }
    await Promise.all(Array.from({ length: CONCURRENCY.dbos }, work))
  }
}

interface Graphile {
  readonly run: (options: object) => Promise<{ stop(): Promise<void> }>
  readonly runMigrations: (options: object) => Promise<void>
}

async function startGraphile(load: NodeJS.Require, connectionString: string): Promise<Do> {
  const { run, runMigrations } = load('graphile-worker') as Graphile
  await runMigrations({ connectionString })
  const sql = postgres(connectionString, { max: 1, onnotice: () => {} })
  const concurrency = CONCURRENCY['graphile-worker']
  const common = { connectionString, concurrency, maxPoolSize: concurrency, noHandleSignals: true }
  return async (count) => {
    let left = count
    let finish = (): void => {}
    const finished = new Promise<void>((resolve) => (finish = resolve))
    const noop = async () => {
      if (--left === 0) finish()
    }
    const runner = await run({ ...common, taskList: { noop } })
    const job = JSON.stringify({ identifier: 'noop' })
    await sql`
      select graphile_worker.add_jobs(array(
        select json_populate_record(null::graphile_worker.job_spec, ${job}::text::json)
        from generate_series(1, ${count}::int)))`
    await finished
    await runner.stop()
  }
}

/** Does rounds of work for the process that has started this one, each as large as that says. */
async function serve([name, packages = '', server = '', database = '']: readonly string[]) {
  const admin = postgres(server, { max: 1, onnotice: () => {} })
  await admin.unsafe(`create database ${database}`)
  await admin.end()
  const url = new URL(server)
  url.pathname = `/${database}`
  const load = createRequire(join(packages, 'package.json'))
  const work = await (name === 'dbos' ? startDbos : startGraphile)(load, url.href)
  process.once('disconnect', () => process.exit())
  process.send?.('ready')
  for (;;) {
    const [count]: unknown[] = await once(process, 'message')
    const started = performance.now()
    await work(Number(count))
    process.send?.((performance.now() - started) / 1000)
  }
}

await serve(process.argv.slice(2))
