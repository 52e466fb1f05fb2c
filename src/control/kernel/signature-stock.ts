/**
 * The signatures of one write. A write that needs many runs without them first, which shows what is to be signed; it is undone,
 * threads make the signatures while others write, and it runs again. What has changed meanwhile is signed then.
 */
import type { KeyMaterial } from '../../dnssec/signing-key.js';
import type { SignatureOrder, SignerThreads } from './zone-keys.js';

/** An RRSIG whose signature is made by a thread. */
export interface WantedSignature extends SignatureOrder {
  /** Its rdata; at its end there is room for the signature. */
  readonly rrsig: Uint8Array;
}

export interface SignatureStock {
  /** A signature that was made under this name. */
  find(name: string): Uint8Array | undefined;
  keep(name: string, rrsig: Uint8Array): void;
  /** Whether the run may make another signature itself. */
  mayMake(): boolean;
  /** Notes a signature that the write lacks. */
  want(name: string, wanted: WantedSignature): void;
  /** The key that a run of the write made under this name; signatures fit only if every run has the same. */
  newKey(name: string, make: () => KeyMaterial): KeyMaterial;
  /** Begins a run of the write. */
  begin(): void;
  /** Throws {@link SignaturesWanted} when the run lacked any. */
  requireAll(): void;
  /**
   * Throws the same in the first run, because all that it would still do is undone. Later runs go on, so that they find out
   * everything else that is lacking.
   */
  requireAllAtFirst(): void;
  /** Lets threads make what the last run lacked. */
  fill(threads: SignerThreads): Promise<void>;
}

/** Undoes a run of a write that lacks signatures. */
export class SignaturesWanted extends Error {
  constructor() {
    super('signatures are to be made first');
  }
}

const MOST_MADE = 200;
/** A write whose signatures change from run to run makes them itself in the end. */
const MOST_FILLS = 5;

/** `mostMade`: signatures that a run makes itself, which takes no longer than a few milliseconds. */
export function createStock(mostMade = MOST_MADE): SignatureStock {
  const made = new Map<string, Uint8Array>();
  const keys = new Map<string, KeyMaterial>();
  let wanted = new Map<string, WantedSignature>();
  let count = 0;
  let fills = 0;
  const requireAll = (): void => {
    if (wanted.size > 0) throw new SignaturesWanted();
  };
  return {
    find: (name) => made.get(name),
    keep: (name, rrsig) => void made.set(name, rrsig),
    mayMake: () => fills >= MOST_FILLS || ++count <= mostMade,
    want: (name, order) => void wanted.set(name, order),
    newKey(name, make) {
      const key = keys.get(name) ?? make();
      keys.set(name, key);
      return key;
    },
    begin() {
      wanted = new Map();
      count = 0;
    },
    requireAll,
    requireAllAtFirst() {
      if (fills === 0) requireAll();
    },
    async fill(threads) {
      fills++;
      const orders = [...wanted];
      const signatures = await threads.sign(orders.map(([, order]) => order));
      for (const [i, [name, { rrsig }]] of orders.entries()) {
        const signature = signatures[i]!;
        rrsig.set(signature, rrsig.length - signature.length);
        made.set(name, rrsig);
      }
    },
  };
}
