// The tree of a trace in the page: only the rows in sight are there, so that 100,000 spans scroll
// like ten.

import { atOf, rowAt } from './trace-list.js'
import { element, rowElement, ticks } from './trace-row.js'

const ROW_PX = 30
const OVERSCAN = 12

/** Puts an empty tree in place of the rows that the server wrote. */
export function createView(place) {
  const head = element('div', 'tree-head')
  head.setAttribute('aria-hidden', 'true')
  const tree = element('div', 'tree-rows')
  tree.setAttribute('role', 'tree')
  tree.setAttribute('aria-label', 'Spans')
  tree.tabIndex = 0
  const nothing = element('p', 'hint nothing', 'No span is like this.')
  const scroller = element('div', 'tree-scroller')
  scroller.append(tree)
  place.replaceChildren(head, nothing, scroller)
  return { head, tree, nothing, scroller, elements: new Map() }
}

/** Draws everything anew. */
export function redraw(view, list) {
  const { head, tree, nothing, scroller } = view
  const { length: count } = list.listed
  const names = [element('span', '', 'Span'), element('span', 'number', 'Tokens')]
  head.replaceChildren(...names, element('span', 'number', 'Duration'), ticks(list.length))
  nothing.hidden = count > 0
  scroller.hidden = count === 0
  tree.style.height = `${count * ROW_PX}px`
  scroller.style.height = tree.style.height
  tree.replaceChildren()
  view.elements = new Map()
  draw(view, list)
}

/** Adds the rows that came into sight, and removes the others. */
export function draw(view, list) {
  const { scroller, tree, elements } = view
  const first = Math.max(0, Math.floor(scroller.scrollTop / ROW_PX) - OVERSCAN)
  const inSight = Math.ceil(scroller.clientHeight / ROW_PX) + 2 * OVERSCAN
  const last = Math.min(list.listed.length, first + inSight)
  const kept = new Map()
  for (let at = first; at < last; at++) {
    const { id } = rowAt(list, at)
    const made = elements.get(id) ?? addRow(tree, list, at)
    made.style.transform = `translateY(${at * ROW_PX}px)`
    kept.set(id, made)
  }
  for (const [id, made] of elements) if (!kept.has(id)) made.remove()
  view.elements = kept
}

function addRow(tree, list, at) {
  const row = rowAt(list, at)
  const { length, collapsed, selected } = list
  const isCollapsed = collapsed.has(row.id)
  const made = rowElement(row, { length, isCollapsed, isSelected: row.id === selected })
  tree.append(made)
  return made
}

/** Marks the selected row, and scrolls to it. */
export function showSelected(view, list) {
  const { tree, scroller } = view
  const at = atOf(list, list.selected)
  if (at < 0) return
  const top = at * ROW_PX
  const bottom = top + ROW_PX
  const { scrollTop, clientHeight } = scroller
  if (top < scrollTop) scroller.scrollTop = top
  else if (bottom > scrollTop + clientHeight) scroller.scrollTop = bottom - clientHeight
  draw(view, list)
  tree.querySelector('[aria-selected="true"]')?.setAttribute('aria-selected', 'false')
  view.elements.get(list.selected)?.setAttribute('aria-selected', 'true')
  tree.setAttribute('aria-activedescendant', `row-${list.selected}`)
}
