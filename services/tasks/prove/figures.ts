import type { DatabaseName } from '../backup/archive.ts'

/** How a table of the original was used while it was watched; partitions count as their table. */
export interface TableUse {
  readonly table: string
  readonly bytes: number
  /** Times that it was read, by the counters of the server. */
  readonly scans: number
  /** Rows that were inserted, updated or deleted. */
  readonly writes: number
  /** Statements and open transactions that were seen to hold it. */
  readonly readers: number
  readonly writers: number
}

/** A lock on a table that was there before, which a migration held until its commit. */
export interface HeldLock {
  readonly table: string
  /** As SQL has it, such as `ACCESS EXCLUSIVE`. */
  readonly mode: string
  readonly heldMs: number
  /** What waits for it, such as `SELECT`, as far as the table is used so; none: it is idle. */
  readonly waiting: readonly string[]
}

/** What a migration did to the rows of a table that was there before. */
export interface RowChange {
  readonly table: string
  readonly inserted: number
  readonly updated: number
  readonly deleted: number
  /** The table was written anew, or emptied. */
  readonly isRewritten: boolean
}

/** What a migration took from a table that was there before. */
export interface Loss {
  readonly table: string
  readonly kind: 'lost_table' | 'lost_column' | 'changed_type'
  readonly column?: string
  readonly before?: string
  readonly after?: string
}

/** A migration, and what it did to the copy. */
export interface MigrationFigures {
  readonly version: number
  readonly name: string
  readonly sha256: string
  /** It says that it takes something away. */
  readonly isContract: boolean
  /** The tables of which it says that it changes rows. */
  readonly changesRowsOf: readonly string[]
  readonly ms: number
  /** What the whole server wrote to its log meanwhile. */
  readonly walBytes: number
  readonly growthBytes: number
  /** Growth before its commit, when former and new files are there. */
  readonly peakBytes: number
  readonly locks: readonly HeldLock[]
  readonly changes: readonly RowChange[]
  readonly losses: readonly Loss[]
  /** Why it could not be applied, without values of rows. */
  readonly failure: string | null
}

/** The rows of a table before and after, in the columns that both schemas have. */
export interface TableFigures {
  readonly table: string
  /** Of a partition. */
  readonly parent: string | null
  readonly rowsBefore: number
  /** Null: the table is no longer there. */
  readonly rowsAfter: number | null
  /** Of the columns that were compared, in whatever order the rows lie. */
  readonly before: string
  readonly after: string | null
}

/** Why a migration is refused. */
export interface Reason {
  readonly kind: 'failed' | 'lock' | 'rows' | 'time' | 'programs' | 'former_programs' | Loss['kind']
  readonly database: DatabaseName
  readonly migration: string | null
  readonly table: string | null
  readonly text: string
}

/** The rehearsal of one database. */
export interface DatabaseFigures {
  readonly name: DatabaseName
  readonly from: number
  readonly to: number
  /** Null where nothing was pending, and nothing was restored. */
  readonly rehearsal: {
    readonly restoredMs: number
    readonly bytes: number
    /** Of all tables and rows that were migrated. */
    readonly fingerprint: string
    readonly room: { readonly neededBytes: number; readonly freeBytes: number | null }
    readonly use: readonly TableUse[]
    readonly migrations: readonly MigrationFigures[]
    readonly tables: readonly TableFigures[]
  } | null
}

/** What programs did on the migrated copies. */
interface ProgramFigures {
  /** What tells their schema of a database from others, by the name of the database. */
  readonly schemas: Readonly<Record<string, string>>
  /** What they were asked, such as `GET /health`. */
  readonly tried: readonly string[]
}

/** What is allowed. */
export interface Limits {
  readonly lockMs: number
  readonly minutes: number
  readonly observeSeconds: number
}

/** What a rehearsal found, which is signed. */
export interface Verdict {
  readonly format: 'crew-platform-upgrade-verdict/1'
  readonly verdict: 'proven' | 'refused' | 'current'
  readonly at: string
  readonly platform: string
  readonly backup: { readonly name: string; readonly createdAt: string; readonly ageHours: number }
  readonly limits: Limits
  readonly databases: readonly DatabaseFigures[]
  /** Those of this release, tried on the copies; null: none were there, or nothing is pending. */
  readonly programs: ProgramFigures | null
  /** Those of the release before; null: they were not given. */
  readonly formerPrograms: ProgramFigures | null
  readonly reasons: readonly Reason[]
}
