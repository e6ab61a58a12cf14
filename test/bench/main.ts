import { spawnSync } from 'node:child_process'

const HELP = `npm run bench -- NAME

Runs one measurement, alone on the machine if it can be, and prints its tables;
test/bench/README.md has the method.

  collector        against "psql \\copy" and a plain receiver
  collector DIR    against the collector of another checkout and one connection of psql, in
                   turns; names of loads behind it choose some: llm, light, one-span,
                   few-spans, retries-0, retries-5, retries-20
  stages [DIR] [LOAD…]
                   what each stage behind a span costs in processor time and bytes, and with another
                   checkout in turns: llm, light, few-spans, trickle
  day [MILLIONS] [SECONDS]
                   spans at the rate of so many millions a day (1000), nine light ones to a model
                   call, for so long (300): what a day of that takes
  citus            a node that is added and a day that is dropped under load; needs
                   CITUS_DATABASE_URL (test/citus)
  reads            one trace of 50,000 spans and 1 GB
  archived [CALLS] so many model calls (1,000,000) of four weeks, of which the older half are files:
                   traces, lists and searches of both
  search [CALLS]   so many model calls (1,000,000): what it takes to make them searchable, and to
                   search them
  pages            in Chromium: a list of a million traces, and a trace of 1 GB; a directory
                   behind it keeps the data for the next time
  queue [WORKERS…] runs a second with 1, 10 and 50 workers, or with so many, and what a run costs
  take [DIR]       what it costs a worker to take runs, from 20 to 10,000 automations and 1,000 to
                   1,000,000 waiting runs; and with the queue of another checkout, in turns
  commits [DIR]    what it costs PostgreSQL to commit a step of a run, alone and with those of other
                   runs; and with the journal of another checkout, in turns
  journal          the time between two steps of a run, with its journal, with a budget, and
                   without, and a bare commit beside it; a directory behind it holds the data of
                   PostgreSQL, such as /dev/shm, which has no disk; names of loads behind that
                   choose some: plain, journal, budget, row, long-plain, long-journal
  adapter          what the Python package crew-runtime adds to an event, a step and a run, beside
                   a bare server in Python
  rollback         versions that are taken back by their test: how often by mistake, how often
                   rightly, after how many runs, and what a look costs
  large [PART…]    2,000 callers that follow one run, a run of 10,000 steps, a batch of 100,000
                   rows, and 1,000 runs in one worker: followers, steps, batch, memory
  console          each page of the console in an organization of 500 automations, 100,000 runs
                   and 200 members: how long it takes, and how large it is
  automation-api   against a bare route, and the check of tokens against jose
  pace [--json]    the waits of who works here: npm run synth beside helm template, the files of the
                   last runs of tests, starts of the platform with their memory, and the bundles
  --help           this text
`

/** Its fixtures are those of the tests, so the test runner runs it. */
function benchByTestRunner(file: string): void {
  const args = ['node_modules/vitest/vitest.mjs', 'bench', '--run', `test/bench/${file}`]
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1
}

async function benchCollector(other?: string, ...loads: string[]): Promise<void> {
  if (other === undefined) return (await import('./collector/run.ts')).run()
  return (await import('./collector/compare.ts')).compare(other, ...loads)
}

const BENCHES: Readonly<Record<string, (...rest: string[]) => Promise<void> | void>> = {
  collector: benchCollector,
  stages: async (...words) => (await import('./collector/stages.ts')).measureStages(...words),
  day: async (...words) => (await import('./collector/day.ts')).simulateDay(...words),
  citus: async () => (await import('./citus/run.ts')).run(),
  reads: async () => (await import('./reads/run.ts')).run(),
  archived: async (calls) => (await import('./reads/archived.ts')).run(calls),
  search: async (calls) => (await import('./search/run.ts')).run(calls),
  pages: async (directory) => (await import('./pages/run.ts')).run(directory),
  queue: async (...workers) => (await import('./queue/run.ts')).run(workers),
  take: async (directory) => (await import('./take/run.ts')).run(directory),
  commits: async (directory) => (await import('./commits/run.ts')).run(directory),
  rollback: async () => (await import('./rollback/run.ts')).run(),
  large: async (...parts) => (await import('./large/run.ts')).run(...parts),
  journal: async (...words) => (await import('./journal/run.ts')).run(...words),
  adapter: async () => (await import('./adapter/run.ts')).run(),
  pace: async (format) => (await import('./pace/run.ts')).run({ isJson: format === '--json' }),
  console: () => benchByTestRunner('console'),
  'automation-api': () => benchByTestRunner('automation-api'),
}

/** Of the one that programs read, too. */
const isFormat = (option: string): boolean => name === 'pace' && option === '--json'

const [name = '', ...rest] = process.argv.slice(2)
const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined
if ([name, ...rest].includes('--help')) process.stdout.write(HELP)
else if (bench && rest.every((one) => !one.startsWith('-') || isFormat(one))) await bench(...rest)
else {
  process.stderr.write(`Which measurement?\n\n${HELP}`)
  process.exitCode = 2
}
