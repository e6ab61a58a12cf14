const POLL_MS = 1500
const POLL_MS_MAX = 30000
const ANSWER_MS = 15000
const TEXT_QUIET_MS = 1000
const announcer = document.getElementById('announcer')

function announce(text) {
  if (announcer && text) announcer.textContent = text
}

// Copying ------------------------------------------------------------------

function copyButton(read) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'button small copy'
  button.textContent = 'Copy'
  button.addEventListener('click', () => void copy(button, read))
  return button
}

async function copy(button, read) {
  let said = 'Copied'
  try {
    await navigator.clipboard.writeText(await read())
  } catch {
    said = 'Could not copy'
  }
  button.textContent = said
  announce(said)
  setTimeout(() => {
    button.textContent = 'Copy'
  }, 2000)
}

async function download(path) {
  const response = await fetch(path)
  if (!response.ok || response.redirected) throw new Error(String(response.status))
  return response.text()
}

/** Adds a button to each text to copy, where the connection is safe enough for a clipboard. */
function addCopyButtons(root) {
  if (!navigator.clipboard) return
  for (const box of root.querySelectorAll('.copy-box:not(:has(> .copy))')) {
    box.append(copyButton(() => box.querySelector('pre').textContent))
  }
  for (const box of root.querySelectorAll('[data-copy-from]:not(:has(> .copy))')) {
    box.append(copyButton(() => download(box.dataset.copyFrom)))
  }
  for (const box of root.querySelectorAll('[data-messages-from] .message:not(:has(> .copy))')) {
    const path = box.closest('[data-messages-from]').dataset.messagesFrom
    box.append(copyButton(async () => messageText(await download(path), box.dataset.message)))
  }
}

/** What a message says, as it was sent: pages cut long texts and show what is invisible. */
function messageText(json, place) {
  const [side, index] = place.split(' ')
  const parts = JSON.parse(json).messages[side][index].content
  return parts.map(partText).join('\n\n')
}

function partText({ type, text, name, arguments: given, content, url }) {
  if (type === 'tool_call') {
    return `${name} ${typeof given === 'string' ? given : JSON.stringify(given)}`
  }
  return text ?? content ?? url ?? ''
}

// The progress of a run ----------------------------------------------------

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const whenVisible = () =>
  new Promise((resolve) => {
    if (!document.hidden) return resolve()
    const look = () => {
      if (document.hidden) return
      document.removeEventListener('visibilitychange', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
  })

/** Adds the new steps at their places. Those on the page stay, with their folds. */
function addSteps(steps, fresh) {
  let newest
  let above
  for (const step of fresh.children) {
    let there = document.getElementById(step.id)
    if (!there) {
      there = newest = document.importNode(step, true)
      if (above) above.after(there)
      else steps.append(there)
    }
    above = there
  }
  if (newest) announce(newest.dataset.say)
}

const isAtEnd = (box) => box.scrollTop + box.clientHeight >= box.scrollHeight - 20

/** Logs show their end, and what comes, unless a reader has gone back to a place. */
function showLogs(root, readAt) {
  for (const log of root.querySelectorAll('.log')) log.scrollTop = readAt ?? log.scrollHeight
}

const foldsOf = (part) => [...part.querySelectorAll('details[data-fold]')]

function swapPart(part, fresh) {
  if (part.outerHTML === fresh.outerHTML) return
  if (part.dataset.keep && part.dataset.keep === fresh.dataset.keep) return
  const hadFocus = part.contains(document.activeElement)
  const next = document.importNode(fresh, true)
  const open = foldsOf(part).flatMap((fold) => (fold.open ? fold.dataset.fold : []))
  for (const fold of foldsOf(next)) fold.open = open.includes(fold.dataset.fold)
  const log = part.querySelector('.log')
  const readAt = log && !isAtEnd(log) ? log.scrollTop : undefined
  part.replaceWith(next)
  showLogs(next, readAt)
  hideWhatScriptsReplace(next)
  addCopyButtons(next)
  const focusable = 'a, button, [tabindex]'
  if (!hadFocus) return
  if (next.matches(focusable)) next.focus()
  else (next.querySelector(focusable) ?? document.getElementById('main')).focus()
}

function swap(live, text) {
  const parsed = new DOMParser().parseFromString(text, 'text/html')
  const fresh = parsed.querySelector('[data-live]')
  if (!fresh) throw new Error('not a run')
  for (const part of fresh.querySelectorAll('[data-part]')) {
    const there = live.querySelector('[data-part="' + part.dataset.part + '"]')
    if (part.dataset.part === 'steps') addSteps(there, part)
    else if (there) swapPart(there, part)
  }
  if (live.dataset.say && live.dataset.say !== fresh.dataset.say) announce(fresh.dataset.say)
  Object.assign(live.dataset, fresh.dataset)
  setClock(live)
}

// The clock of a run -------------------------------------------------------

const CLOCK_MS = 500
/** By how much the clock of the server is behind that of this browser. */
let behindMs = 0

function setClock(root) {
  const said = root.querySelector('[data-now]')?.dataset.now
  if (said) behindMs = Date.now() - Date.parse(said)
}

/** Lets the time of a run that goes on pass between its steps. */
function showClock(live) {
  const place = live.querySelector('[data-started-at]')
  if (!place || document.hidden) return
  place.textContent = duration(Date.now() - behindMs - Date.parse(place.dataset.startedAt))
}

/** As the server writes it. */
function duration(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  const minutes = Math.floor(ms / 60000)
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60000) / 1000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

// What models write --------------------------------------------------------

/** Shows the texts of a run while they are written; each goes when its call has ended. */
function showTexts(place) {
  const boxes = new Map()
  const source = new EventSource(place.dataset.texts)
  source.addEventListener('message', ({ data }) => {
    const delta = JSON.parse(data)
    if (isWritten(delta.step)) return
    let box = boxes.get(delta.step)
    if (!box) boxes.set(delta.step, (box = openText(place, delta)))
    addText(box, delta)
  })
  return {
    /** Removes the texts that are complete. */
    tidy(isOver, hasNews) {
      if (isOver) source.close()
      for (const [step, box] of boxes) {
        const isQuiet = hasNews && performance.now() - box.at >= TEXT_QUIET_MS
        if (!isOver && !isQuiet && !isWritten(step)) continue
        box.part.remove()
        boxes.delete(step)
      }
      place.hidden = boxes.size === 0
    },
  }
}

const isWritten = (step) => document.querySelector(`[data-written="${CSS.escape(step)}"]`) !== null

function openText(place, { task, agent }) {
  const part = document.createElement('div')
  const name = document.createElement('p')
  const text = document.createElement('pre')
  name.className = 'hint'
  name.textContent = `${agent} is writing (${task})`
  text.className = 'prose'
  part.append(name, text)
  place.append(part)
  place.hidden = false
  return { part, text, length: 0, at: 0 }
}

function addText(box, { offset, text }) {
  const follows = isAtEnd(box.text)
  if (offset === 0) box.text.textContent = ''
  else if (offset !== box.length) box.text.append(' … ')
  box.text.append(text)
  box.length = offset + text.length
  box.at = performance.now()
  if (follows) box.text.scrollTop = box.text.scrollHeight
}

/** Polls until the run is over. Without news, the response is a 304 without a body. */
async function follow(live) {
  let etag = ''
  let waitMs = live.dataset.liveAtOnce === undefined ? POLL_MS : 0
  const texts = followTexts(live.querySelector('[data-texts]'))
  setClock(live)
  const clock = setInterval(showClock, CLOCK_MS, live)
  while (live.dataset.live) {
    await pause(waitMs)
    await whenVisible()
    try {
      const response = await ask(live.dataset.live, etag)
      if (response.redirected || response.status === 404) break
      if (response.status === 200) swap(live, await response.text())
      texts(live.dataset.live !== '', response.status === 200)
      etag = response.headers.get('etag') ?? ''
      waitMs = POLL_MS
    } catch {
      waitMs = Math.min(waitMs * 2, POLL_MS_MAX)
    }
  }
  texts(false)
  clearInterval(clock)
  if (live.dataset.live) showRefresh(live)
}

/** Asks for the parts of a page; raises an error for what is neither news nor an end. */
async function ask(address, etag) {
  const response = await fetch(address, {
    headers: etag ? { 'if-none-match': etag } : {},
    cache: 'no-store',
    signal: AbortSignal.timeout(ANSWER_MS),
  })
  if (!response.ok && ![304, 404].includes(response.status)) {
    throw new Error(String(response.status))
  }
  return response
}

/** Begins with the first answer: without a session there is nothing to listen to. */
function followTexts(place) {
  let texts
  return (isLive, hasNews) => {
    if (place && isLive) texts ??= showTexts(place)
    texts?.tidy(!isLive, hasNews)
  }
}

function hideWhatScriptsReplace(root) {
  for (const each of root.querySelectorAll('[data-without-script]')) each.hidden = true
}

/** Offers to refresh the page: the session is over, or the run is gone. */
function showRefresh(live) {
  for (const each of live.querySelectorAll('[data-without-script]')) each.hidden = false
  announce('Live progress has stopped. Refresh the page.')
}

// --------------------------------------------------------------------------

/** A text that is cut is all in its title, for those who point at it. */
document.addEventListener('mouseover', ({ target }) => {
  const cut = target.closest('.list td, summary .hint, .tree-row .text')
  if (cut && cut.scrollWidth > cut.clientWidth) cut.title ||= cut.innerText
})
addCopyButtons(document)
showLogs(document)
document.addEventListener('content-added', ({ target }) => addCopyButtons(target))
document
  .querySelector('nav[aria-label="Main"] [aria-current]')
  ?.scrollIntoView({ block: 'nearest' })
const live = document.querySelector('[data-live]:not([data-live=""])')
if (live) {
  hideWhatScriptsReplace(live)
  void follow(live)
}
