/** A block of memory that JavaScript and WebAssembly share. */
export interface SharedBlock {
  readonly buffer: ArrayBuffer
}

type Imports = Readonly<Record<string, unknown>>

interface WebAssemblyApi {
  Memory: new (size: { initial: number }) => SharedBlock
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object, imports: Readonly<Record<string, Imports>>) => { exports: unknown }
}

// The types of Node do not have WebAssembly; these are the parts of its JavaScript interface in
// use.
const { Memory, Module, Instance } = (globalThis as unknown as { WebAssembly: WebAssemblyApi })
  .WebAssembly

const PAGE_BYTES = 65_536

/** A block of at least so many bytes. Pages that were never written cost nothing. */
export const createBlock = (bytes: number): SharedBlock =>
  new Memory({ initial: Math.ceil(bytes / PAGE_BYTES) })

/** Instantiates a module that works in the block; returns what it exports. */
export function instantiate(bytes: Uint8Array, block: SharedBlock, host: Imports): unknown {
  return new Instance(new Module(bytes), { env: { memory: block }, host }).exports
}
