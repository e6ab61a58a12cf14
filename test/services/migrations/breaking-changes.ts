import { parseSync } from 'libpg-query'
import type { Node } from 'libpg-query'

/** What the statements of one file make and take away, for statements that undo each other. */
interface File {
  readonly created: ReadonlySet<string>
}

/** Of `AlterTableStmt`, and why programs of the version before may fail by it. */
const TABLE_CHANGES: Readonly<Record<string, string>> = {
  AT_DropColumn: 'a column is dropped, which they may read or write',
  AT_SetNotNull: 'a column becomes not null, which they may leave out',
  AT_AlterColumnType: 'a column changes its type',
  AT_AddConstraint: 'a constraint may refuse what they write',
  AT_DropConstraint: 'their "on conflict" may need the constraint',
  AT_DropNotNull: 'they do not expect null in a column',
  AT_EnableRowSecurity: 'rows may be hidden from them',
  AT_DropIdentity: 'they may leave the column out',
  AT_DetachPartition: 'rows leave the table',
}

const DROPPED_THINGS: Readonly<Record<string, string>> = {
  OBJECT_TABLE: 'a table is dropped',
  OBJECT_VIEW: 'a view is dropped',
  OBJECT_FUNCTION: 'a function is dropped',
  OBJECT_TRIGGER: 'a trigger is dropped',
  OBJECT_SEQUENCE: 'a sequence is dropped',
  OBJECT_TYPE: 'a type is dropped',
  OBJECT_INDEX: 'their "on conflict" may need the index',
}

const RENAMED_THINGS = new Set(['OBJECT_INDEX', 'OBJECT_TABCONSTRAINT', 'OBJECT_TRIGGER'])

/**
 * Returns what programs of the version before a migration may fail by, in words, with the line. A
 * statement that seems to do that, and does not, says why in a comment before it: `-- safe: …`.
 */
export function findBreakingChanges(statements: string): string[] {
  const bytes = Buffer.from(statements)
  const stmts = parseSync(statements).stmts ?? []
  const created = new Set(stmts.flatMap(({ stmt }) => createdBy(stmt)))
  let end = 0
  return stmts.flatMap(({ stmt, stmt_location: start = 0, stmt_len: length = 0 }) => {
    const comment = bytes.subarray(end, start).toString()
    end = start + length
    if (!stmt || /^\s*-- safe: \S/m.test(comment)) return []
    const line = bytes.subarray(0, start).toString().split('\n').length
    return problemsOf(stmt, { created }).map((problem) => `line ${line}: ${problem}`)
  })
}

function createdBy(stmt: Node | undefined): string[] {
  if (!stmt) return []
  if ('CreateStmt' in stmt) return [`table ${stmt.CreateStmt.relation?.relname}`]
  if ('ViewStmt' in stmt) return [`view ${stmt.ViewStmt.view?.relname}`]
  if ('CreateFunctionStmt' in stmt) {
    return [`function ${lastName(stmt.CreateFunctionStmt.funcname)}`]
  }
  return 'CreateTrigStmt' in stmt ? [`trigger ${stmt.CreateTrigStmt.trigname}`] : []
}

const lastName = (names: readonly Node[] | undefined): string => {
  const last = names?.at(-1)
  return last && 'String' in last ? (last.String.sval ?? '') : ''
}

function problemsOf(stmt: Node, file: File): string[] {
  if ('DropStmt' in stmt) return dropped(stmt, file)
  if ('RenameStmt' in stmt) return renamed(stmt, file)
  if ('AlterTableStmt' in stmt) return altered(stmt, file)
  if ('IndexStmt' in stmt) {
    const { unique, relation } = stmt.IndexStmt
    const isNew = file.created.has(`table ${relation?.relname}`)
    return unique && !isNew ? ['a unique index may refuse what they write'] : []
  }
  if ('GrantStmt' in stmt && !stmt.GrantStmt.is_grant) return ['a right is revoked']
  return 'DoStmt' in stmt ? ['a block of code, which this rule does not read'] : []
}

type Of<Key extends string> = Extract<Node, Record<Key, unknown>>

function dropped({ DropStmt: drop }: Of<'DropStmt'>, { created }: File): string[] {
  const kind = drop.removeType?.replace('OBJECT_', '').toLowerCase()
  const remain = (drop.objects ?? []).filter((object) => {
    const names = 'List' in object ? object.List.items : undefined
    const name = 'ObjectWithArgs' in object ? object.ObjectWithArgs.objname : names
    return !created.has(`${kind} ${lastName(name)}`)
  })
  const problem = DROPPED_THINGS[drop.removeType ?? ''] ?? 'something is dropped'
  return remain.length > 0 ? [problem] : []
}

function renamed({ RenameStmt: rename }: Of<'RenameStmt'>, { created }: File): string[] {
  const isReplaced =
    rename.renameType === 'OBJECT_TABLE' && created.has(`table ${rename.relation?.relname}`)
  return isReplaced || RENAMED_THINGS.has(rename.renameType ?? '') ? [] : ['something is renamed']
}

function altered({ AlterTableStmt: alter }: Of<'AlterTableStmt'>, { created }: File): string[] {
  if (created.has(`table ${alter.relation?.relname}`)) return []
  return (alter.cmds ?? []).flatMap((node) => {
    if (!('AlterTableCmd' in node)) return []
    const { subtype = '', def } = node.AlterTableCmd
    if (subtype === 'AT_AddColumn') return isRequired(def) ? ['a column that they leave out'] : []
    if (subtype === 'AT_ColumnDefault') return def ? [] : ['a default is dropped, which they need']
    const problem = TABLE_CHANGES[subtype]
    return problem ? [problem] : []
  })
}

const FILLED = new Set(['CONSTR_DEFAULT', 'CONSTR_IDENTITY', 'CONSTR_GENERATED'])

/** A new column that a row cannot be without, and that nothing fills. */
function isRequired(column: Node | undefined): boolean {
  if (!column || !('ColumnDef' in column)) return false
  const kinds = (column.ColumnDef.constraints ?? []).map((constraint) =>
    'Constraint' in constraint ? (constraint.Constraint.contype ?? '') : '',
  )
  return kinds.includes('CONSTR_NOTNULL') && !kinds.some((kind) => FILLED.has(kind))
}
