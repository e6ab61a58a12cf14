import type { HttpBindings } from '@hono/node-server'
import type { Database } from '../shared/postgres/database.ts'
import type { Log, RequestVariables } from '../shared/log.ts'
import type { Price } from '../shared/prices/price-table.ts'
import type { SpanSender } from '../shared/tracing/span-sender.ts'
import type { Actor } from '../platform/audit/audit.ts'
import type { Automation } from '../platform/automations/automations.ts'
import type { Reach } from '../platform/automations/startable-automations.ts'
import type { QueueRoom } from '../platform/runs/queue-room.ts'
import type { PasswordCost } from '../platform/people/passwords.ts'
import type { Session } from '../platform/people/sessions.ts'
import type { TraceHolds } from '../shared/trace-holds.ts'
import type { OpenTraces } from './traces/trace-reader.ts'
import type { SendPrices } from './traces/own-prices.ts'
import type { TraceTokens } from './traces/trace-tokens.ts'
import type { BadTokens } from './gate/callers/bad-tokens.ts'
import type { CallLimits } from './gate/callers/call-limits.ts'
import type { LimitKind } from './gate/callers/limit-metrics.ts'
import type { AuthMetrics } from './gate/access-token/metrics.ts'
import type { Rights } from './gate/callers/right.ts'
import type { SeenAdministrators } from './gate/callers/seen-administrators.ts'
import type { TakeKnowledge } from './intake/knowledge/add-knowledge.ts'
import type { Mailer } from './mail/mailer.ts'
import type { DiagnosticsDeps } from './diagnostics/deps.ts'
import type { WebConfig } from './env.ts'
import type { RunWatch } from './api/automation/run-watch.ts'
import type { ApiDocument } from './api/openapi/operation.ts'
import type { TextWatch } from './run-texts/text-watch.ts'

/** The dependencies of the routes. */
export interface WebDeps extends WebOptions {
  /** Says who may call which route. */
  readonly rights: Rights
  /** Describes all APIs. */
  readonly apis: () => ApiDocument
  readonly seenAdministrators: SeenAdministrators
  /** Counts tokens that are nobody's, over all APIs. */
  readonly badTokens: BadTokens
  /** Counts the calls of tokens that are good. */
  readonly calls: CallLimits
  /** Keeps the queue of each organization within its limit. */
  readonly queue: QueueRoom
  /** Sends links; absent without a mail server. */
  readonly mailer?: Mailer | undefined
  /** Wakes calls that wait for a run. */
  readonly watch: RunWatch
  /** Brings what the models of runs write. */
  readonly texts: TextWatch
  /** What people are told when something is done, by its name in addresses. */
  readonly notices: Map<string, Notice>
  /** Makes knowledge of files that people and programs send. */
  readonly takeKnowledge: TakeKnowledge
}

/** What was done, and the action that takes it back. */
export interface Notice {
  readonly text: string
  readonly undo?: string | undefined
}

/** The dependencies of the web service. */
export interface WebOptions {
  readonly config: WebConfig
  readonly sql: Database
  /** Resolves when the database answers. */
  readonly ping: () => Promise<void>
  readonly isDraining: () => boolean
  /** Aborts when the service stops: calls that wait end then. */
  readonly stopping?: AbortSignal
  readonly log: Log
  /** Counts the decisions of the automation API. */
  readonly authMetrics?: AuthMetrics
  /** Counts the calls that were over a limit. */
  readonly onLimited?: (limit: LimitKind) => void
  /** Opens the traces of an organization; absent without a trace collector. */
  readonly traces?: OpenTraces
  /** Signs and revokes tokens of the trace collector; absent likewise. */
  readonly traceTokens?: TraceTokens
  /** Sends the own prices of an organization to the trace collector; absent likewise. */
  readonly sendPrices?: SendPrices
  /** Tells the trace collector of holds; absent likewise. */
  readonly traceHolds?: TraceHolds
  /** What hashing a password costs. @default what OWASP asks for */
  readonly passwordCost?: PasswordCost
  /** What models cost, but for the organizations' own prices. @default nothing is known */
  readonly prices?: readonly Price[]
  /** Sends spans of calls to the trace collector. */
  readonly spans?: Pick<SpanSender, 'tracer'>
  /** The surroundings of the diagnoses. */
  readonly diagnostics?: DiagnosticsDeps
}

/** Every request. The bindings are absent when a test calls the app without a socket. */
export interface WebApp {
  Bindings: Partial<HttpBindings>
  Variables: RequestVariables & { session?: Session; actor?: Actor }
}

/** A page behind a session; `form` holds the fields of a checked form. */
export interface SignedIn {
  Bindings: Partial<HttpBindings>
  Variables: RequestVariables & {
    session: Session
    actor: Actor
    form: URLSearchParams
    /** What was done, as the address of a page names it; never a text of the address. */
    notice?: string | undefined
  }
}

/** A call of the automation API whose bearer token was accepted for `automation`. */
export interface AuthorizedCall {
  Bindings: Partial<HttpBindings>
  Variables: RequestVariables & { automation: Automation; actor: Actor }
}

/** A call of the automations as tools, whose bearer token was accepted. */
export interface McpCall {
  Bindings: Partial<HttpBindings>
  Variables: RequestVariables & {
    /** What the token opens. */
    reach: Reach
    /** The automation that the path names, in place of it. */
    automation: Automation
    actor: Actor
  }
}

/** A caller on behalf of a whole organization: a person, or a token of it. */
export interface Caller {
  readonly organizationId: number
  /** True for a token of the platform's own organization. */
  readonly internal: boolean
  /** null for a person with a session. */
  readonly tokenId: number | null
  /** The person with the session; null for a token. */
  readonly userId: number | null
}

/** A call that was accepted for an organization. */
export interface OrganizationCall {
  Bindings: Partial<HttpBindings>
  Variables: RequestVariables & { caller: Caller; actor: Actor }
}
