import { spawnSync } from 'node:child_process'
import { afterEach, describe, expect, it } from 'vitest'
import { stepBase, stepKey } from '../../services/platform/crew-contract/step-key.ts'
import { readCrewInputs } from '../../services/worker/deployments/read-crew-inputs.ts'
import { requestDigest } from '../../services/platform/crew-contract/step-request.ts'
import { runVerify } from '../../services/verify/verify.ts'
import { startAdapter, TOKEN, whyNoPython, writeProject } from './adapter.ts'

const whyNot = whyNoPython()
if (whyNot !== undefined) console.log(`The Python package crew-runtime is not tested: ${whyNot}.`)

const SHOUTER = `
def run(inputs, context):
    loud = context.step("shout", lambda: str(inputs["topic"]).upper())
    with context.task("write", "Writes about it") as task:
        answer = context.model("gpt-5", [{"role": "user", "content": f"Write about {loud}"}])
        task.finish(answer.text)
    return context.step("greet", lambda: f"Hello, {loud}! {answer}")
`
const FUNCTION = `
[tool.crew-runtime]
entrypoint = "shouter:run"
inputs = ["topic"]
`

const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

async function start(files: Record<string, string>, env: Record<string, string> = {}) {
  const project = await writeProject(files)
  const adapter = await startAdapter({ args: ['--project', project], env })
  stops.push(() => adapter.stop())
  return adapter
}

describe.skipIf(whyNot !== undefined)('the Python package crew-runtime', () => {
  it('speaks the contract with a function and nothing but the standard library', async () => {
    const adapter = await start({ 'shouter.py': SHOUTER, 'pyproject.toml': FUNCTION })
    await adapter.ready()
    let said = ''
    const output = { out: (text: string) => (said += text), err: (text: string) => (said += text) }
    const args = [adapter.url, '--model', 'gpt-5']
    expect(await runVerify(args, { CREW_TOKEN: TOKEN }, output), said).toBe(0)
    expect(said).toMatch(/^The crew speaks the contract: 13 checks\.$/m)
    expect(said).not.toContain('skipped')
  })

  it('says which fields of a flow may be left out, and a worker understands it', async () => {
    const flow = [
      'class Letter:',
      '    state = {"id": "1", "topic": "bees", "outs": []}',
      '    def kickoff(self, inputs):',
      '        return {**self.state, **inputs}["topic"]',
      'flow = Letter()',
    ].join('\n')
    const settings = '[tool.crew-runtime]\nentrypoint = "letter:flow"\n'
    const adapter = await start({ 'letter.py': flow, 'pyproject.toml': settings })
    await adapter.ready()
    const { signal } = new AbortController()
    expect(await readCrewInputs(adapter.url, { token: TOKEN, signal })).toEqual([
      { name: 'topic', required: false, default: 'bees' },
      { name: 'outs', required: false, default: [] },
    ])
  })

  it('passes the tests of its parts', () => {
    const args = ['-B', '-m', 'unittest', 'discover', '-s', 'test/python/unit', '-t', 'test/python']
    const env = { PATH: process.env['PATH'], PYTHONPATH: 'python/crew-runtime/src' }
    const { status, stderr } = spawnSync('python3', args, { env, encoding: 'utf8' })
    expect(status, stderr).toBe(0)
    expect(stderr).toMatch(/^Ran [1-9]\d* tests/m)
  })

  it('makes the digests of requests as the platform does', () => {
    const requests = [
      { model: 'a', messages: [{ role: 'user', content: 'é\u2028"\\\u0001\u007f/😀' }], tools: [] },
      { z: { b: 1, a: [true, null, -0, 0.1, 1e21, 1e20, 1e-7, -1.5e300, 5e-324] }, ['']: {} },
      { ['\uffff']: 1, ['😀']: 2, ['\ud800']: '\udc00', n: 2 ** 53, m: 2 ** 70 },
    ]
    const program =
      'import json, sys; from crew_runtime.step_request import *; ' +
      'print(json.dumps([request_digest(plain(each)) for each in json.loads(sys.argv[1])]))'
    // As a crew writes it: with what JavaScript rounds.
    const given = JSON.stringify(requests).replace('9007199254740992', '9007199254740993')
    const args = ['-B', '-c', program, given]
    const env = { PATH: process.env['PATH'], PYTHONPATH: 'python/crew-runtime/src' }
    const { stdout, stderr } = spawnSync('python3', args, { env, encoding: 'utf8' })
    expect(stderr).toBe('')
    const read = JSON.parse(given) as (typeof requests)[number][]
    expect(JSON.parse(stdout)).toEqual(read.map(requestDigest))
  })

  it('makes the keys of steps as the platform does', () => {
    const inputs = [
      {},
      { topic: 'bees' },
      { b: 1, a: [true, null, { z: 'é', y: '\u2028"\\\u0001' }] },
      { ['\uffff']: 1, ['😀']: 2, count: 1e21, small: 1e-7, half: 0.5, whole: -3, e: 1.25e-5 },
    ]
    const path = ['research', 'Senior Resærcher', 'llm', '0']
    const program =
      'import json, sys; from crew_runtime.step_key import *; ' +
      'print([step_key(step_base(7, each), json.loads(sys.argv[2])) ' +
      'for each in json.loads(sys.argv[1])])'
    const args = ['-B', '-c', program, JSON.stringify(inputs), JSON.stringify(path)]
    const env = { PATH: process.env['PATH'], PYTHONPATH: 'python/crew-runtime/src' }
    const { stdout, stderr } = spawnSync('python3', args, { env, encoding: 'utf8' })
    expect(stderr).toBe('')
    const keys = inputs.map((each) => stepKey(stepBase(7, each), path))
    expect(JSON.parse(stdout.replaceAll("'", '"'))).toEqual(keys)
  })
})
