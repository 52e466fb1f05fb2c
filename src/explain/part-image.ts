/**
 * The part of a zone that decides about a few names, compiled as the DNS process compiles the whole zone: the names
 * themselves, their ancestors, and the wildcards at the ancestors. The engine answers from it as from the whole zone.
 */

import { answerWith } from '../answer/engine.js';
import type { MadeTable } from '../answer/made.js';
import { createEngineState, DEFAULT_ENGINE_SETTINGS } from '../answer/state.js';
import { type TracedName, traceOf } from '../answer/trace.js';
import { DEFERRED, Transport } from '../answer/transport.js';
import { keepRecords, makeRecords } from '../compact/make-records.js';
import { type ReadMessage, readMessage } from '../dns/message.js';
import { lowerName, nameOfLabels, nameOfOwnerKey, ownerKeyOf, parentName } from '../dns/name.js';
import type { HashedOwner } from '../dnssec/denial.js';
import { hashOwner } from '../dnssec/nsec3.js';
import { ImageWriter } from '../image/writer.js';
import { createBalances, nodeSource } from '../publish/balances.js';
import type { ZoneSource } from '../publish/source.js';
import { NO_HEALTH } from '../serving/health-source.js';
import type { ServingZone } from '../serving/zone.js';
import { makeQuery } from './question.js';

const LONGEST_MESSAGE = 65_535;
/** Origins and pools of the load balancers of one answer. */
export const MOST_STATES: number = 1 << 17;
const ASTERISK = Uint8Array.of(42);
const LONGEST_NAME = 255;

export interface PartImage {
  /** Adds the names that decide about this one; false when they are already present. `name`: lower-case wire name. */
  add(name: Uint8Array): boolean;
  /** The whole answer, as over TCP, and what the engine did for it. `clientSubnet`: data of the option that is sent along. */
  ask(name: Uint8Array, type: number, clientSubnet?: Uint8Array): Asked;
}

export interface Asked {
  readonly message: ReadMessage;
  readonly trace: readonly TracedName[];
  readonly query: Uint8Array;
  readonly response: Uint8Array;
}

export function createPartImage(source: ZoneSource, zone: ServingZone): PartImage {
  const { facts } = zone;
  const owners = new Map<string, Uint8Array>();
  const add = (owner: Uint8Array): boolean => {
    const key = Buffer.from(owner).toString('latin1');
    if (owners.has(key)) return false;
    owners.set(key, owner);
    return true;
  };
  add(facts.apex);
  const hashedOwners = new Map<string, HashedOwner>();
  // The record that would be owed for a name.
  const addProof = (owner: Uint8Array): void => {
    const { denial } = zone;
    if (denial?.kind === 'nsec') {
      add(nameOfOwnerKey(source.memberAtOrBefore(zone, ownerKeyOf(owner, facts.apex)), facts.apex));
    }
    const hashed = denial?.kind === 'nsec3' ? source.hashedAtOrBefore(zone, hashOwner(owner, denial)) : undefined;
    if (hashed) hashedOwners.set(Buffer.from(hashed.hash).toString('latin1'), hashed);
  };
  return {
    add(name) {
      let isNew = false;
      for (let owner = lowerName(name); owner.length >= facts.apex.length; owner = parentName(owner)) {
        isNew = add(owner) || isNew;
        addProof(owner);
        if (owner.length + 2 <= LONGEST_NAME) {
          add(wildcardOf(owner));
          addProof(wildcardOf(owner));
        }
        if (owner.length === facts.apex.length) break;
      }
      return isNew;
    },
    ask(name, type, clientSubnet) {
      const writer = new ImageWriter({ seed: 1, states: MOST_STATES });
      const balances = createBalances(source.health ?? NO_HEALTH, writer);
      const number = writer.beginZone(facts.apex, zone.denial);
      for (const owner of owners.values()) {
        const key = ownerKeyOf(owner, facts.apex);
        const served = source.owner(zone, key);
        if (!source.exists(zone, served)) continue;
        writer.loadNode(number, nodeSource(served, facts.apex, balances, number));
      }
      for (const hashedOwner of hashedOwners.values()) writer.loadHashed(number, hashedOwner);
      writer.publishZone(number);
      writer.commit();
      const query = makeQuery(name, type, zone.denial !== undefined, clientSubnet);
      const out = new Uint8Array(LONGEST_MESSAGE);
      const made: MadeTable = new Map();
      const engine = createEngineState(DEFAULT_ENGINE_SETTINGS, made);
      const answer = answerWith(engine, writer.reader);
      const ask = (): number => answer(query, 0, query.length, out, 0, out.length, Transport.tcp);
      let length = ask();
      // What is signed only when it is asked for is shown without signatures.
      for (; length === DEFERRED; length = ask()) keepRecords(made, engine, makeRecords(engine, writer.reader, [], 0));
      const response = out.slice(0, length);
      return { message: readMessage(response)!, trace: traceOf(engine), query, response };
    },
  };
}

/** `*` below a name. */
export function wildcardOf(name: Uint8Array): Uint8Array {
  const owner = new Uint8Array(name.length + 2);
  owner.set(nameOfLabels([ASTERISK]).subarray(0, 2));
  owner.set(name, 2);
  return owner;
}
