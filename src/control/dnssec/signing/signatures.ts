/**
 * Where the signatures of a write come from. Those that threads have made for it before are taken; all others it makes itself, which
 * are few. A plan only notes what is to be signed.
 */
import { signOctets } from '../../../dnssec/sign.js';
import type { MadeSignatures, SignatureOrder, SignerThreads } from '../../kernel/zone-keys.js';

/** An RRSIG that is to be made. */
interface WantedSignature extends SignatureOrder {
  /** Its rdata; at its end there is room for the signature. */
  readonly rrsig: Uint8Array;
}

export interface Signatures {
  /** The RRSIG with this name, if there is one already. The name tells the key and the signed data. */
  find(name: string): Uint8Array | undefined;
  /** Fills in the signature, now or when the plan is carried out. */
  make(name: string, wanted: WantedSignature): void;
}

/** Of a write: `made`: what was made for it. */
export function signaturesOfWrite(made: MadeSignatures | undefined): Signatures {
  return {
    find: (name) => made?.get(name),
    make: (_, { key, octets, rrsig }) => fillIn(rrsig, signOctets(key, octets)),
  };
}

export interface DeferredSignatures extends Signatures {
  /** Makes all deferred signatures. */
  makeAll(): void;
}

/**
 * Makes them one after the other when all are known: between other work, each takes up to twice as long, and slows that work down,
 * because the tables of the curve fill most of a processor's first cache.
 */
export function deferSignatures(of: Signatures): DeferredSignatures {
  const wanted: (readonly [name: string, order: WantedSignature])[] = [];
  return {
    find: (name) => of.find(name),
    make: (name, order) => void wanted.push([name, order]),
    makeAll() {
      for (const [name, order] of wanted.splice(0)) of.make(name, order);
    },
  };
}

export interface PlannedSignatures extends Signatures {
  /** Lets threads make what was noted. Resolves to everything that is made. */
  fill(threads: SignerThreads): Promise<MadeSignatures>;
}

/** `known`: what was made for an earlier plan. */
export function planSignatures(known?: MadeSignatures): PlannedSignatures {
  const made = new Map(known);
  const wanted = new Map<string, WantedSignature>();
  return {
    find: (name) => made.get(name) ?? wanted.get(name)?.rrsig,
    make: (name, order) => void wanted.set(name, order),
    async fill(threads) {
      const orders = [...wanted];
      wanted.clear();
      const signatures = await threads.sign(orders.map(([, order]) => order));
      for (const [i, [name, { rrsig }]] of orders.entries()) {
        fillIn(rrsig, signatures[i]!);
        made.set(name, rrsig);
      }
      return made;
    },
  };
}

function fillIn(rrsig: Uint8Array, signature: Uint8Array): void {
  rrsig.set(signature, rrsig.length - signature.length);
}
