import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../support/free-port.ts'
import { until } from '../../../support/until.ts'
import { PROVIDERS } from './providers.ts'

const VERSION = '1.106.2'
/** What was installed once stays for the next run. */
const FOLDER = fileURLToPath(new URL('../../../../node_modules/.cache/gateway/', import.meta.url))
const PROGRAM = join(FOLDER, '.venv/bin/litellm')
const READY_MS = 120_000

export const hasUv = spawnSync('which', ['uv']).status === 0

/** Installs LiteLLM from PyPI, once. */
export function installLiteLlm(): void {
  if (existsSync(PROGRAM)) return
  mkdirSync(FOLDER, { recursive: true })
  for (const args of [
    ['venv', '--quiet', '--clear'],
    ['pip', 'install', '--quiet', `litellm[proxy]==${VERSION}`],
  ]) {
    const { status, stderr } = spawnSync('uv', args, { cwd: FOLDER, encoding: 'utf8' })
    if (status !== 0) throw new Error(`uv ${args.join(' ')}: ${stderr}`)
  }
}

/** Starts LiteLLM as a gateway to all providers, each a model of its name, and says where. */
export async function startLiteLlm(upstream: string, key: string) {
  const config = join(FOLDER, 'config.yaml')
  // JSON is YAML.
  writeFileSync(config, JSON.stringify({ model_list: modelsAt(upstream) }))
  const url = `http://127.0.0.1:${await freePort()}`
  const args = ['--config', config, '--host', '127.0.0.1', '--port', new URL(url).port]
  const child = spawn(PROGRAM, [...args, '--telemetry', 'False'], {
    cwd: FOLDER,
    env: {
      PATH: process.env['PATH'] ?? '',
      LITELLM_MASTER_KEY: key,
      // Its list of prices, which it would otherwise fetch.
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    },
    stdio: 'ignore',
  })
  const isReady = async () =>
    (await fetch(`${url}/health/readiness`).catch(() => undefined))?.ok === true
  await until(isReady, { timeoutMs: READY_MS })
  return { url, stop: () => end(child) }
}

const modelsAt = (upstream: string) =>
  Object.entries(PROVIDERS).map(([name, { settings }]) => ({
    model_name: name,
    litellm_params: { ...settings, ...credentialOf(name, `${upstream}/${name}`) },
  }))

const credentialOf = (name: string, address: string) =>
  name === 'bedrock'
    ? {
        aws_bedrock_runtime_endpoint: address,
        aws_access_key_id: 'id',
        aws_secret_access_key: 'key',
      }
    : { api_base: address, api_key: 'key' }

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
