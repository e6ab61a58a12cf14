// Which rows of a trace are in the list, and where. The rows are in the order of the tree; a
// subtree is the rows that follow with a greater depth.

import { CRITICAL, ERROR } from './trace-row.js'

const toRow = ([id, depth, below, name, kind, start, duration, flags, label, tokens]) => ({
  id,
  depth,
  below,
  name,
  kind,
  start,
  duration,
  flags,
  label,
  tokens,
})

export const createList = () => ({
  rows: [],
  length: 1,
  filter: {},
  selected: undefined,
  /** Ids, so that they stay while the trace grows. */
  collapsed: new Set(),
  /** The places of the rows that are in the list. */
  listed: new Int32Array(0),
})

export function fill(list, { rows, length_ns: length }) {
  list.rows = rows.map(toRow)
  list.length = length
  relist(list)
}

export function filterBy(list, filter) {
  list.filter = filter
  relist(list)
}

/** Opens or closes a row; false when there is nothing below it. */
export function setCollapsed(list, row, isCollapsed) {
  if (!row || row.below === 0) return false
  if (isCollapsed) list.collapsed.add(row.id)
  else list.collapsed.delete(row.id)
  relist(list)
  return true
}

/** Closes the rows for which this is true, and opens all others; they can be opened one by one. */
export function closeAll(list, isClosed) {
  list.collapsed = new Set(
    list.rows.filter((row) => row.below > 0 && isClosed(row)).map(({ id }) => id),
  )
  relist(list)
}

/** Closes all rows of the kind of the selected one, or opens them when it is closed. */
export function toggleKind(list) {
  const row = list.rows.find(({ id }) => id === list.selected)
  if (!row) return
  const isClosed = list.collapsed.has(row.id)
  for (const { id, kind, below } of list.rows) {
    if (kind !== row.kind || below === 0) continue
    if (isClosed) list.collapsed.delete(id)
    else list.collapsed.add(id)
  }
  relist(list)
}

function relist(list) {
  const { rows, collapsed } = list
  const places = []
  for (let place = 0; place < rows.length; place++) {
    if (isIn(list, rows[place])) places.push(place)
    if (collapsed.has(rows[place].id)) place += rows[place].below
  }
  list.listed = Int32Array.from(places)
}

function isIn({ filter }, { id, kind, flags, name, label }) {
  if (filter.kind && kind !== filter.kind) return false
  if (filter.critical && !(flags & CRITICAL)) return false
  if (filter.errors && !(flags & ERROR)) return false
  if (!filter.text || filter.found?.has(id)) return true
  return `${name} ${label ?? ''}`.toLowerCase().includes(filter.text)
}

export const rowAt = ({ rows, listed }, at) => rows[listed[at]]

/** Where a span is in the list; -1 when it is not. */
export const atOf = ({ rows, listed }, id) => listed.findIndex((place) => rows[place].id === id)

export const selectedAt = (list) => atOf(list, list.selected)

/** The nearest row above with a smaller depth; -1 for a root. */
export function parentAt(list, at) {
  const { depth } = rowAt(list, at)
  let above = at - 1
  while (above >= 0 && rowAt(list, above).depth >= depth) above--
  return above
}

/** Opens everything above a span. */
export function uncover(list, id) {
  const { rows, collapsed } = list
  const place = rows.findIndex((row) => row.id === id)
  let depth = rows[place]?.depth ?? 0
  for (let above = place - 1; above >= 0 && depth > 0; above--) {
    if (rows[above].depth >= depth) continue
    depth = rows[above].depth
    collapsed.delete(rows[above].id)
  }
  relist(list)
}

/** The id of a span, or of the nearest one above it that is in the list. */
export function nearestListed({ rows, listed }, id) {
  const wanted = rows.findIndex((row) => row.id === id)
  let above
  for (const place of listed) {
    if (place > wanted) break
    above = rows[place].id
  }
  return above
}

/** The next failed span, from the first again after the last. */
export function nextError({ rows, selected }) {
  const from = rows.findIndex(({ id }) => id === selected)
  const isBad = ({ flags }) => flags & ERROR
  return rows.find((row, place) => place > from && isBad(row)) ?? rows.find(isBad)
}
