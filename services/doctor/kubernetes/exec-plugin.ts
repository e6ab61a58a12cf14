import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import * as v from 'valibot'
import type { EnvSource } from '../../shared/env.ts'
import { AppError, toError } from '../../shared/errors.ts'
import type { KubernetesCredentials } from '../../shared/kubernetes/client.ts'

/** A plugin may open a browser and wait for a person. */
const TIMEOUT_MS = 60_000
const OUTPUT_BYTES_MAX = 1 << 20

/** The program of a kubeconfig's user, such as that of a cloud. */
export const execSettings = v.object({
  apiVersion: v.picklist([
    'client.authentication.k8s.io/v1',
    'client.authentication.k8s.io/v1beta1',
  ]),
  command: v.string(),
  args: v.nullish(v.array(v.string()), []),
  env: v.nullish(v.array(v.object({ name: v.string(), value: v.string() })), []),
  installHint: v.optional(v.string(), ''),
})

type ExecSettings = v.InferOutput<typeof execSettings>

const execCredential = v.object({
  status: v.object({
    token: v.optional(v.string()),
    clientCertificateData: v.optional(v.string()),
    clientKeyData: v.optional(v.string()),
  }),
})

/** Where a plugin runs. */
export interface PluginPlace {
  /** The directory of the kubeconfig. */
  readonly directory: string
  /** The environment of this process. */
  readonly env: EnvSource
}

/**
 * Runs the plugin and reads its credentials. Raises
 * `invalid_request` with what the plugin said.
 */
export async function runExecPlugin(
  { apiVersion, command, args, env: variables, installHint }: ExecSettings,
  { directory, env }: PluginPlace,
): Promise<KubernetesCredentials> {
  const info = { apiVersion, kind: 'ExecCredential', spec: { interactive: false } }
  // A name with a slash is a path beside the kubeconfig; any other one is looked up.
  const file =
    command.includes('/') && !command.startsWith('/') ? `${directory}/${command}` : command
  const own = Object.fromEntries((variables ?? []).map(({ name, value }) => [name, value]))
  try {
    const { stdout } = await promisify(execFile)(file, args ?? [], {
      timeout: TIMEOUT_MS,
      maxBuffer: OUTPUT_BYTES_MAX,
      env: { ...env, ...own, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
    })
    const { status } = v.parse(v.pipe(v.string(), v.parseJson(), execCredential), stdout)
    return { token: status.token, cert: status.clientCertificateData, key: status.clientKeyData }
  } catch (thrown) {
    const hint = installHint === '' ? '' : ` ${installHint}`
    throw new AppError(
      'invalid_request',
      `The login of the kubeconfig by ${command} failed: ${toError(thrown).message}.${hint}`,
    )
  }
}
