// The keys of the page of a trace, and the box that tells them.

import { closeAll, nextError, parentAt, rowAt, selectedAt, toggleKind } from './trace-list.js'
import { element } from './trace-row.js'

const KEYS = [
  ['j or ↓', 'the next span'],
  ['k or ↑', 'the span before'],
  ['→', 'open, or the first span below'],
  ['←', 'close, or the span above'],
  ['Enter', 'read the span'],
  ['Esc', 'back to the tree'],
  ['c', 'close or open all of its kind'],
  ['1 … 9', 'show so many levels'],
  ['0', 'open all'],
  ['/', 'find'],
  ['e', 'the next error'],
  ['?', 'these keys'],
]

export function createHelp() {
  const dialog = element('dialog', 'card keys')
  const keys = element('dl', 'pairs')
  for (const [key, what] of KEYS) {
    const pair = element('div')
    pair.append(element('dt', '', key), element('dd', '', what))
    keys.append(pair)
  }
  const close = element('button', 'button small', 'Close')
  close.type = 'button'
  close.addEventListener('click', () => dialog.close())
  const title = element('h2', '', 'Keys')
  title.id = 'keys-title'
  dialog.setAttribute('aria-labelledby', title.id)
  dialog.append(title, keys, close)
  document.body.append(dialog)
  return dialog
}

const STEPS = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 15, PageUp: -15 }

/** What each key does, with the list, the view and what selects a row. */
function actionsOf({ list, select, toggle, goTo, find, beside, help, close }) {
  const current = () => rowAt(list, selectedAt(list))
  const isOpen = (row) => row.below > 0 && !list.collapsed.has(row.id)
  return {
    ArrowRight() {
      const row = current()
      if (row && list.collapsed.has(row.id)) toggle(row)
      else if (row?.below > 0) select(selectedAt(list) + 1)
    },
    ArrowLeft() {
      const row = current()
      if (row && isOpen(row)) toggle(row)
      else if (row) select(parentAt(list, selectedAt(list)))
    },
    Home: () => select(0),
    End: () => select(list.listed.length - 1),
    Enter: () => beside.focus(),
    e: () => goTo(nextError(list)?.id),
    c: () => close(() => toggleKind(list)),
    '/': () => find.focus(),
    '?': () => help.showModal(),
  }
}

export function listenToKeys({ list, view, select, help, close, ...others }) {
  const actions = actionsOf({ list, select, help, close, ...others })
  document.addEventListener('keydown', (event) => {
    const { key, target } = event
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return
    if (key === 'Escape') return view.tree.focus()
    if (target.closest('input, select, textarea')) return
    // Arrows and Enter are those of whatever has the focus.
    if (key.length > 1 && !view.tree.contains(target)) return
    if (key in STEPS) {
      select(Math.max(0, Math.min(list.listed.length - 1, selectedAt(list) + STEPS[key])))
    } else if (key in actions) actions[key]()
    else if (/^\d$/.test(key)) close(() => closeAll(list, closedBelow(Number(key))))
    else return
    event.preventDefault()
  })
}

/** Which rows are closed when so many levels are shown; 0 is all of them. */
export const closedBelow =
  (levels) =>
  ({ depth }) =>
    depth === levels - 1
