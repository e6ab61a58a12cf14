import { WORKLOAD_SCOPES } from '../../../platform/workloads/workload-rules.ts'
import type { WorkloadScope } from '../../../platform/workloads/workload-rules.ts'
import { AppError } from '../../../shared/errors.ts'
import { mediaType, readBody } from '../../../shared/http/request-body.ts'
import type { WebConfig } from '../../env.ts'
import { automationUrl } from '../automation/automation-urls.ts'

const BODY_BYTES_MAX = 32 * 1024
/** The type of request that is taken (RFC 8693 §2.1). */
export const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:'
/** The type of token that is issued. */
export const ISSUED_TYPE = `${TOKEN_TYPE}access_token`
/** The types of tokens that are taken. */
export const SUBJECT_TYPES = [`${TOKEN_TYPE}jwt`, `${TOKEN_TYPE}id_token`] as const

/** A request to exchange the token of a workload. */
export interface ExchangeRequest {
  readonly assertion: string
  readonly automationId: string
  /** undefined: all that the rule gives. */
  readonly scopes: readonly WorkloadScope[] | undefined
}

/** The errors of a token endpoint (RFC 6749 §5.2, RFC 8693 §2.2.2). */
type TokenError = 'invalid_request' | 'unsupported_grant_type' | 'invalid_scope' | 'invalid_target'

/** Creates the refusal of a request. */
export const refuse = (error: TokenError, message: string): AppError =>
  new AppError('invalid_request', message, { details: { error } })

/** Reads a request. Raises `invalid_request` and `payload_too_large`. */
export async function readExchange(request: Request, config: WebConfig): Promise<ExchangeRequest> {
  const parameters = await readParameters(request)
  const need = (name: string): string => {
    const value = parameters.get(name)
    if (value !== undefined) return value
    throw refuse('invalid_request', `The parameter ${name} is missing.`)
  }
  if (need('grant_type') !== GRANT_TYPE) {
    throw refuse('unsupported_grant_type', `The only grant_type here is ${GRANT_TYPE}.`)
  }
  const type = need('subject_token_type')
  if (!SUBJECT_TYPES.some((each) => each === type)) {
    throw refuse('invalid_request', `subject_token_type is one of ${SUBJECT_TYPES.join(', ')}.`)
  }
  if ((parameters.get('requested_token_type') ?? ISSUED_TYPE) !== ISSUED_TYPE) {
    throw refuse('invalid_request', `requested_token_type is ${ISSUED_TYPE}, or left out.`)
  }
  if (parameters.has('actor_token')) {
    throw refuse('invalid_request', 'Delegation is not supported: send no actor_token.')
  }
  return {
    assertion: need('subject_token'),
    automationId: readTarget(parameters, config),
    scopes: readScopes(parameters.get('scope')),
  }
}

/** Reads a form. A parameter without a value counts as left out (RFC 6749 §3.2). */
async function readParameters(request: Request): Promise<ReadonlyMap<string, string>> {
  if (mediaType(request) !== 'application/x-www-form-urlencoded') {
    throw refuse('invalid_request', 'Send a form: application/x-www-form-urlencoded.')
  }
  const body = await readBody(request, BODY_BYTES_MAX)
  const all = [...new URLSearchParams(body.toString())].filter(([, value]) => value !== '')
  const parameters = new Map(all)
  if (parameters.size === all.length) return parameters
  throw refuse('invalid_request', 'A parameter is sent twice.')
}

/** Reads which automation the token is to be for: by its address, as `audience` or `resource`. */
function readTarget(parameters: ReadonlyMap<string, string>, config: WebConfig): string {
  const { audience, resource } = {
    audience: parameters.get('audience'),
    resource: parameters.get('resource'),
  }
  const address = audience ?? resource ?? ''
  const automationId = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.exec(address)?.[0]
  const isOne = (resource ?? address) === address
  if (automationId !== undefined && isOne && automationUrl(config, automationId) === address) {
    return automationId
  }
  throw refuse(
    'invalid_target',
    `Send the address of one automation as audience: ${automationUrl(config, '<id>')}.`,
  )
}

function readScopes(given: string | undefined): readonly WorkloadScope[] | undefined {
  const words = given?.split(' ')
  const scopes = WORKLOAD_SCOPES.filter((each) => words?.includes(each))
  if (words?.every((word) => WORKLOAD_SCOPES.some((each) => each === word)) ?? true) {
    return words && scopes
  }
  throw refuse('invalid_scope', `A scope is one of ${WORKLOAD_SCOPES.join(', ')}.`)
}
