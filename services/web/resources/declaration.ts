import type { Context } from 'hono'
import type * as v from 'valibot'
import type { Actor } from '../../platform/audit/audit.ts'
import type { OrganizationRole } from '../../platform/people/memberships.ts'
import type { Session } from '../../platform/people/sessions.ts'
import type { TokenScope } from '../../platform/automations/token-limits.ts'
import type { Database, Queryable } from '../../shared/postgres/database.ts'
import type { Crumb } from '../console/frame/confirm-page.ts'
import type { IconName } from '../console/frame/icons.ts'
import type { Html, Tone } from '../console/frame/parts.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'
import type { SignedIn, WebDeps } from '../context.ts'
import type { LinkMail, MailedLink } from '../mail/mail-link.ts'
import type { Control } from './controls.ts'

/** How people see a field, beside the schema that its values pass. */
export interface Look {
  readonly label: string
  readonly control: Control
  /** A sentence below it, and its description in OpenAPI. */
  readonly hint?: string
  /** Shown where nothing is typed yet, and in the examples of OpenAPI. */
  readonly example?: unknown
  /** Decided when it is created, and never changed. */
  readonly isFixed?: true
  /** What the audit records of a value. @default the value; nothing of a secret */
  readonly facts?: (value: unknown) => object
}

/** A valibot schema with the look of its field. */
export type Field = v.GenericSchema & { readonly look: Look }

/** The fields of a resource, by their names in JSON. */
export type Fields = Readonly<Record<string, Field>>

/** The values of fields, as JSON has them. */
export type Values<Of extends Fields> = v.InferOutput<v.StrictObjectSchema<Of, undefined>>

/** Declares a field: what its values are, and how people see it. Fields may share a schema. */
export const field = <Schema extends v.GenericSchema>(schema: Schema, look: Look) => ({
  ...schema,
  look,
})

/** A JSON Schema, and how its value is read of a row. */
export type Fact<Row> = readonly [schema: object, of: (row: Row) => unknown]

/** What resources belong to, such as an automation. */
export interface Parent<Owner> {
  /** `automation` */
  readonly noun: string
  /** The path of its page, such as `/automations/:automationId`; empty for an organization. */
  readonly path: string
  /** What stands before the addresses of pages, not of the API: `/settings`. @default nothing */
  readonly pages?: string
  /** The entry of the navigation that its pages belong to. */
  readonly current: string
  readonly find: (sql: Database, key: ParentKey) => Promise<Owner | undefined>
  /** What the answers of the API say of it, by names in JSON. */
  readonly facts: Readonly<Record<string, Fact<Owner>>>
  readonly name: (owner: Owner) => string
  /**
   * The names in JSON, in its own list in the API, of what its path has and of what files name it
   * by. Without them files cannot name one.
   */
  readonly listed?: { readonly id: string; readonly name: string }
  readonly pathOf: (owner: Owner) => string
  /** The way back to it. */
  readonly crumbs: (owner: Owner) => readonly Crumb[]
  /** The head of a list of what belongs to it. */
  readonly head: (
    owner: Owner,
    texts: { readonly title: string; readonly hint: string; readonly aside: Html | string },
  ) => Html
}

/** Names a parent: a parameter of its path, within an organization. */
interface ParentKey {
  readonly organizationId: number
  readonly parameterOf: (name: string) => string
}

/** A call of a verb: for whom, and by whom. */
export interface Call<Owner> {
  /** A transaction for what changes something. */
  readonly sql: Queryable
  readonly deps: WebDeps
  readonly owner: Owner
  /** Who the audit names. */
  readonly actor: Actor
  /** null: a token. */
  readonly userId: number | null
  /** The token of the organization that calls; null: a person. */
  readonly tokenId: number | null
}

/** What a verb made. */
export interface Outcome {
  /** A secret that is shown once. */
  readonly secret?: string
  /** A mail with the secret, which is a link; it is sent once all is committed. */
  readonly mail?: Omit<LinkMail, 'url'>
  /** The page that shows it, below that of the row: `/deliveries/1`. @default that of the row */
  readonly at?: string
  /** What people are told, by the ending of a notice by hand. @default what the declaration says */
  readonly done?: string
}

/** What a verb made, and what became of its mail. */
export interface Done extends Outcome {
  readonly mailed?: MailedLink | undefined
}

/** A secret that was just made. */
export interface Made<Owner, Row> {
  readonly deps: WebDeps
  readonly owner: Owner
  readonly row: Row
  readonly secret: string
}

/** A verb beside creating, changing and deleting, such as `pause`. */
export interface Action<Owner, Row> {
  /** The text of its button. */
  readonly text: string
  /** `paused`: the audit says `schedule_paused`. */
  readonly past: string
  /** What people are told when it is done. */
  readonly done: string
  /** It makes a secret, which is shown once. */
  readonly makesSecret?: true
  /** The action that takes it back. */
  readonly undo?: string
  /** What comes of it, for one that nothing takes back: people are asked first. */
  readonly asks?: string
  /** Returns false while the button would do nothing. @default true */
  readonly isOffered?: (row: Row) => boolean
  readonly does: (call: Call<Owner>, row: Row) => Promise<Outcome | void>
}

/** A row with its owner, on its own page. */
export interface View<Owner, Row> {
  readonly c: Context<SignedIn>
  readonly sql: Database
  readonly deps: WebDeps
  readonly session: Session
  readonly owner: Owner
  readonly row: Row
  /** The address of its page. */
  readonly path: string
}

/** A state in a word or two, and what is wrong. */
export type State = readonly [tone: Tone, text: string, problem?: string | undefined]

/** A column of the list. */
export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => Html | string
  readonly className?: string
}

/** A row as the database has it. */
export interface Identified {
  readonly id: number | string
}

/** What deleting is called: `Revoke`, `revoked`. */
export type End = readonly [verb: string, past: string]

/** What a noun is called, may be and looks like. */
export interface Shown<Owner, Row extends Identified> {
  /** In the singular, with underscores: `static_token`. Paths, pages and the audit name it so. */
  readonly kind: string
  readonly id: 'number' | 'uuid' | 'name'
  readonly under: Parent<Owner>
  /** How many of them an owner has at the most. */
  readonly most: number
  /** There is one row: the list leads to its page. */
  readonly isOnly?: true
  /** A new one takes the place of the oldest: there is always room for it. */
  readonly isRolling?: true
  readonly fields: Fields
  /** The field that files name a row by. @default `name`, where there is one */
  readonly identity?: string
  /** What the answers of the API have beside the fields. */
  readonly facts: Readonly<Record<string, Fact<Row>>>
  readonly rights:
    | Readonly<Record<'read' | 'change', OrganizationRole>>
    | Readonly<Record<'read' | 'change', 'platform-admin'>>
  /** Without `change`, rows stay as they were created; others are created or removed elsewhere. */
  readonly verbs: {
    readonly create?: unknown
    readonly change?: unknown
    readonly remove?: unknown
  }
  /** Another service makes the changes and records them: no transaction waits for it here. */
  readonly isRecordedElsewhere?: true
  /** What a token has to be for to change them. Absent: only a session may. */
  readonly scope?: TokenScope
  readonly actions: Readonly<Record<string, Action<Owner, Row>>>
  readonly words: {
    /** What it does, in a sentence. */
    readonly about: string
    readonly icon: IconName
    /** The heading of the form, or of what a row says that cannot be changed. */
    readonly form: string
    /** A button that posts what is typed to `/test` below the page, to a route by hand. */
    readonly tries?: string
    readonly saved?: string
    readonly deleted?: string
    /** What happens when it is deleted. */
    readonly deletes?: string
    /** @default Delete, deleted */
    readonly end?: End
    /** How one is made that is not created here. */
    readonly made?: string
  }
  /** The secret that creating makes, or actions alone; it is shown once. */
  readonly secret?: {
    /** Its name in JSON. */
    readonly key: string
    readonly label: string
    readonly isOfActions?: true
    /** It is a link that may be sent: the answer of the API says in `mailed` whether it was. */
    readonly isMailed?: true
    /** What it is for, and commands with it. */
    readonly hint: (made: Made<Owner, Row>) => Html
  }
  readonly name: (row: Row) => string
  /** The organization in whose audit a change is; null: in none. @default that of the caller */
  readonly concerns?: (row: Row) => number | null
  /** Returns false while a row is not to be deleted. @default true */
  readonly isRemovable?: (row: Row) => boolean
  readonly state: (row: Row) => State
  /** The columns of the list; the first one leads to the page of the row. */
  readonly columns: readonly [Column<Row>, ...Column<Row>[]]
  /** What the form of a new one shows. @default what its fields are by themselves */
  readonly proposes?: (call: Call<Owner>) => Promise<Readonly<Record<string, unknown>>>
  /** What people are likely to type, by field. */
  readonly suggests?: (call: Call<Owner>) => Promise<Readonly<Record<string, readonly string[]>>>
  /** A wide section of the page, beside which the form stands. */
  readonly main?: (view: View<Owner, Row>) => Promise<Html> | Html
  /** A wide section below the form. */
  readonly below?: (view: View<Owner, Row>) => Promise<Html> | Html
  /** A section below the form, or beside it. */
  readonly beside?: (view: View<Owner, Row>) => Html
}

/**
 * A noun that people and programs set. `Given` is what its fields mean to the domain: a row has it,
 * and the verbs take it.
 */
export interface Declaration<
  Owner,
  Given,
  Row extends Given & Identified,
  Of extends Fields,
> extends Shown<Owner, Row> {
  readonly fields: Of
  /** The values of the fields that a row has. */
  readonly values: (given: Given) => Values<Of>
  readonly verbs: {
    readonly list: (call: Call<Owner>) => Promise<readonly Row[]>
    /** Needed where there may be more than fit on a page. @default all are on one */
    readonly page?: (call: Call<Owner>, request: PageRequest) => Promise<Page<Row>>
    /** The id fits `id`. Returns undefined for one of another owner. */
    readonly find: (call: Call<Owner>, id: string) => Promise<Row | undefined>
    /** Returns values that pass the schema as the verbs take them. Raises `unprocessable`. */
    readonly read: (call: Call<Owner>, values: Values<Of>) => Promise<Given>
    /** Raises `conflict` when there are as many as there may be. */
    readonly create?: (call: Call<Owner>, given: Given) => Promise<Outcome & { readonly row: Row }>
    readonly change?: (
      call: Call<Owner>,
      row: Row,
      given: Given,
    ) => Promise<Outcome | boolean | void>
    readonly remove?: (call: Call<Owner>, row: Row) => Promise<unknown>
  }
}

/** What is read from a declaration, whatever its types are. */
export type Reader<Result> = <Owner, Given, Row extends Given & Identified, Of extends Fields>(
  declaration: Declaration<Owner, Given, Row, Of>,
) => Result

/** A declared noun, whose types only its readers know. */
export interface Resource {
  read<Result>(reader: Reader<Result>): Result
}

/** Declares a noun. */
export const resource = <Owner, Given, Row extends Given & Identified, Of extends Fields>(
  declaration: Declaration<Owner, Given, Row, Of>,
): Resource => ({ read: (reader) => reader(declaration) })
