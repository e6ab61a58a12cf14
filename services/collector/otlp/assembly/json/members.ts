import { offsetOf, placeOf, room } from '../output'

/**
 * Where the fields of the objects at hand are written: a frame for each object, within it a slot
 * for each field of its message, by tag. Of several members with one name JSON takes the last.
 */

/** Where the field begins and ends, why its value is wrong, and its turn: four words. */
const SLOT_BYTES: usize = 16
/** Values nest by `MAX_DEPTH`, each level with a frame for the value, its list and its pair. */
const FRAME_SLOTS: i32 = 512
const frames: usize = memory.data(FRAME_SLOTS * 16, 16)
let top: usize = frames

/** Begins with another body. */
export function clearFrames(): void {
  top = frames
}

/** A frame for an object with `fields`; `closeFrame` is to follow. */
export function openFrame(fields: u32): usize {
  const frame = top
  top += (<usize>fields) * SLOT_BYTES
  return frame
}

/** Gives the frame back. */
export function closeFrame(frame: usize): void {
  top = frame
}

/** The slot of a field. */
@inline
export function slotIn(frame: usize, place: u32): usize {
  return frame + (<usize>place) * SLOT_BYTES
}

/** Notes the `turn` at which a field came first. */
@inline
export function noteTurn(slot: usize, turn: u32): void {
  store<u32>(slot, turn, 12)
}

/** Notes that what was written from the offset `from` to `to` is the field. */
@inline
export function noteField(slot: usize, from: usize, to: usize, problem: u32): void {
  store<u32>(slot, <u32>from)
  store<u32>(slot, <u32>offsetOf(to), 4)
  store<u32>(slot, problem, 8)
}

@inline
function fromOf(slot: usize): usize {
  return <usize>load<u32>(slot)
}

@inline
function endOf(slot: usize): usize {
  return <usize>load<u32>(slot, 4)
}

@inline
function problemOf(slot: usize): u32 {
  return load<u32>(slot, 8)
}

/** Whether the field is among those of the object, of which each is a bit. */
@inline
function isIn(given: u32, place: u32): bool {
  return (given & (1 << place)) != 0
}

/** Takes a field back that was written before; returns the new end of what is written. */
export function takeBack(to: usize, frame: usize, place: u32, given: u32): usize {
  const slot = slotIn(frame, place)
  const from = fromOf(slot)
  const end = endOf(slot)
  const size = end - from
  memory.copy(placeOf(from), placeOf(end), offsetOf(to) - end)
  for (let other: u32 = 0; given >> other != 0; other++) {
    const one = slotIn(frame, other)
    if (!isIn(given, other) || fromOf(one) < end) continue
    store<u32>(one, <u32>(fromOf(one) - size))
    store<u32>(one, <u32>(endOf(one) - size), 4)
  }
  return to - size
}

/** Why the object is wrong: of several reasons that of the field with the largest tag. */
export function lastProblem(frame: usize, given: u32): u32 {
  let problem: u32 = 0
  for (let place: u32 = 0; given >> place != 0; place++) {
    const found = isIn(given, place) ? problemOf(slotIn(frame, place)) : 0
    if (found != 0) problem = found
  }
  return problem
}

/** Why the member that `keepOne` kept is wrong. */
export let keptProblem: u32 = 0

/**
 * Takes back all fields but the last one that is not null, by when they came first. What is written
 * of the object begins at the offset `start`.
 */
export function keepOne(to: usize, start: usize, frame: usize, given: u32): usize {
  let kept: usize = 0
  for (let place: u32 = 0; given >> place != 0; place++) {
    const slot = slotIn(frame, place)
    const isValue = isIn(given, place) && (endOf(slot) > fromOf(slot) || problemOf(slot) != 0)
    if (isValue && (kept == 0 || load<u32>(slot, 12) > load<u32>(kept, 12))) kept = slot
  }
  keptProblem = kept == 0 ? 0 : problemOf(kept)
  if (kept == 0) return placeOf(start)
  const size = endOf(kept) - fromOf(kept)
  memory.copy(placeOf(start), placeOf(fromOf(kept)), size)
  return placeOf(start) + size
}

/** Puts the fields that were written from the offset `start` into the order of their tags. */
export function sort(to: usize, start: usize, frame: usize, given: u32): usize {
  const size = offsetOf(to) - start
  to = room(to, size)
  let sorted = to
  for (let place: u32 = 0; given >> place != 0; place++) {
    if (!isIn(given, place)) continue
    const slot = slotIn(frame, place)
    memory.copy(sorted, placeOf(fromOf(slot)), endOf(slot) - fromOf(slot))
    sorted += endOf(slot) - fromOf(slot)
  }
  memory.copy(placeOf(start), to, size)
  return to
}
