// The list of traces: rows appear while it is live, and two of them can be compared.

const SWAP_AFTER_MS = 2000
const AGAIN_MS = 10000
const ANSWER_MS = 15000

const root = document.querySelector('[data-traces]')
const announcer = document.getElementById('announcer')
const say = (text) => {
  if (announcer && text) announcer.textContent = text
}

// Comparing ----------------------------------------------------------------

const chosen = () => [...root.querySelectorAll('input.choose:checked')]

/** Of more than two, the one that was chosen first is let go. */
function createChoice(button) {
  let ids = []
  const show = () => {
    button.disabled = ids.length !== 2
    for (const box of root.querySelectorAll('input.choose')) box.checked = ids.includes(box.value)
  }
  root.addEventListener('change', ({ target }) => {
    if (!target.matches('input.choose')) return
    ids = ids.filter((id) => id !== target.value)
    if (target.checked) ids = [...ids, target.value].slice(-2)
    show()
  })
  ids = chosen()
    .map(({ value }) => value)
    .slice(-2)
  show()
  return show
}

// A list that is live ------------------------------------------------------

const idsOf = (place) => [...place.querySelectorAll('[data-trace-id]')].map(rowId)
const rowId = (row) => row.dataset.traceId

/** Where the focus is, as a selector that finds the same in a new table. */
function focusIn(part) {
  const { activeElement } = document
  if (!part.contains(activeElement)) return undefined
  const row = activeElement.closest('[data-trace-id]')
  return row ? `[data-trace-id="${rowId(row)}"] ${activeElement.localName}` : 'a'
}

function swapParts(fresh) {
  const known = new Set(idsOf(root))
  let added = 0
  for (const part of fresh.querySelectorAll('[data-part]')) {
    const there = root.querySelector(`[data-part="${part.dataset.part}"]`)
    if (!there || there.outerHTML === part.outerHTML) continue
    const focus = focusIn(there)
    const next = document.importNode(part, true)
    for (const row of next.querySelectorAll('[data-trace-id]')) {
      if (known.has(rowId(row))) continue
      row.classList.add('fresh')
      added++
    }
    there.replaceWith(next)
    if (focus) next.querySelector(focus)?.focus()
  }
  if (added > 0) say(`${added} new trace${added === 1 ? '' : 's'}`)
}

/** The server applies the filter and writes the rows: an event only says that there is news. */
async function readAgain() {
  const response = await fetch(location.href, {
    cache: 'no-store',
    signal: AbortSignal.timeout(ANSWER_MS),
  })
  if (!response.ok || response.redirected) throw new Error(String(response.status))
  const parsed = new DOMParser().parseFromString(await response.text(), 'text/html')
  const fresh = parsed.querySelector('[data-traces]')
  if (fresh) swapParts(fresh)
}

/** Reads again soon after news, and once more when there was news meanwhile. */
function createReading(onSwap) {
  let timer
  let hasNews = false
  const read = async () => {
    hasNews = false
    try {
      await readAgain()
      onSwap()
    } catch {
      say('The list cannot be read now.')
    }
    timer = undefined
    if (hasNews) start()
  }
  const start = () => {
    hasNews = true
    if (timer !== undefined || document.hidden) return
    timer = setTimeout(() => void read(), SWAP_AFTER_MS)
  }
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && hasNews) start()
  })
  return {
    start,
    stop() {
      clearTimeout(timer)
      timer = undefined
      hasNews = false
    },
  }
}

function createLive(path, button, onSwap) {
  const reading = createReading(onSwap)
  let source
  let again
  const connect = () => {
    source = new EventSource(path)
    // What came before this connection is not among its events.
    source.addEventListener('open', reading.start)
    source.addEventListener('trace', reading.start)
    source.addEventListener('missed', reading.start)
    source.addEventListener('error', () => {
      if (source?.readyState !== EventSource.CLOSED) return
      say('The list is not live now; it is tried again.')
      again = setTimeout(connect, AGAIN_MS)
    })
  }
  const show = (isLive) => {
    button.classList.toggle('on', isLive)
    button.querySelector('span').textContent = isLive ? 'Pause' : 'Live'
  }
  button.addEventListener('click', () => {
    const isLive = source === undefined
    if (isLive) connect()
    else {
      source.close()
      source = undefined
      clearTimeout(again)
      reading.stop()
    }
    show(isLive)
    say(isLive ? 'The list is live' : 'The list is paused')
  })
}

function liveButton() {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'button small live'
  const text = document.createElement('span')
  text.textContent = 'Live'
  button.append(text)
  return button
}

// --------------------------------------------------------------------------

if (root) {
  const compare = root.querySelector('.list-actions button')
  const showChoice = compare ? createChoice(compare) : () => {}
  if (root.dataset.liveFrom) {
    for (const each of root.querySelectorAll('[data-without-script]')) each.hidden = true
    const button = liveButton()
    root.querySelector('.live-place').replaceWith(button)
    createLive(root.dataset.liveFrom, button, showChoice)
  }
}
