/**
 * The follower of the change log: what other processes commit becomes visible here, whole changes only. Touched owners are read
 * again and recompiled; anything larger is loaded aside. Applying a change twice gives the same image, so reading rows that are
 * newer than the change at hand does no harm.
 */
import { equalBytes } from '../base/bytes.js';
import { nameOfOwnerKey } from '../dns/name.js';
import type { ImageWriter } from '../image/writer.js';
import { deriveRRsets, type EdgeAddresses, type ZoneFacts } from '../zone/derive/owner.js';
import { loadZone } from './load.js';
import type { Change, ZoneSource } from './source.js';

/** Changes read at once. */
const BATCH = 1000;

interface ServedZone {
  /** Number in the image. */
  number: number;
  facts: ZoneFacts;
}

/** Whether a change of settings shows at more owners than the apex. */
function changesManyOwners(before: ZoneFacts, after: ZoneFacts): boolean {
  return (
    before.flattenAll !== after.flattenAll ||
    !sameNames(before.nameServers, after.nameServers) ||
    before.dnsOnly !== after.dnsOnly ||
    before.http2 !== after.http2 ||
    before.http3 !== after.http3
  );
}

/** Name servers inside the zone answer addresses, so other names are other owners. */
function sameNames(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return a.length === b.length && a.every((name, i) => equalBytes(name, b[i]!));
}

export interface Follower {
  /** Loads every zone and notes up to which change the image is true. Returns the records read. */
  loadAll(): number;
  /** Applies what has been committed since; returns the number of changes applied. */
  catchUp(): number;
  /** Sequence number of the last change the image shows. */
  appliedChange(): number;
  zoneCount(): number;
}

export function createFollower(source: ZoneSource, writer: ImageWriter, edge: EdgeAddresses): Follower {
  const zones = new Map<number, ServedZone>();
  let applied = 0;

  function replaceZone(zone: number): number {
    const facts = source.zoneFacts(zone);
    const served = zones.get(zone);
    if (!facts) {
      if (served) writer.removeZone(served.number);
      zones.delete(zone);
      return 0;
    }
    const { number, records } = loadZone(writer, facts, source.zoneRows(zone), edge, source.targetFacts);
    writer.publishZone(number, served?.number);
    zones.set(zone, { number, facts });
    return records;
  }

  function recompile(served: ServedZone, zone: number, ownerKey: Uint8Array): void {
    const { facts, number } = served;
    const rows = source.ownerRows(zone, ownerKey);
    const rrsets = deriveRRsets(facts, ownerKey.length === 0, rows, edge, source.targetFacts);
    const owner = nameOfOwnerKey(ownerKey, facts.apex);
    // A flattened name whose target has no addresses exists all the same.
    if (rows.length > 0 || ownerKey.length === 0) {
      writer.putNode(number, { owner, apex: facts.apex, rrsets });
    } else if (source.hasDescendants(zone, ownerKey)) {
      writer.putNode(number, { owner, apex: facts.apex, rrsets: [] });
    } else {
      writer.removeNode(number, owner);
    }
  }

  /** Names between the apex and a touched owner that exist only while something stands below them. */
  function affectedAncestors(served: ServedZone, zone: number, ownerKey: Uint8Array): Uint8Array[] {
    const ancestors: Uint8Array[] = [];
    for (let end = ownerKey.lastIndexOf(0, ownerKey.length - 2); end >= 0; end = ownerKey.lastIndexOf(0, end - 1)) {
      ancestors.push(ownerKey.subarray(0, end + 1));
    }
    return ancestors.filter((ancestor) => {
      const node = writer.findNode(served.number, nameOfOwnerKey(ancestor, served.facts.apex));
      return node === 0 || writer.rrsetCount(node) === 0 || source.ownerRows(zone, ancestor).length === 0;
    });
  }

  function applyRecords(zone: number, sequences: readonly number[]): void {
    const served = zones.get(zone);
    const facts = source.zoneFacts(zone);
    if (!served || !facts) {
      replaceZone(zone);
      return;
    }
    served.facts = facts;
    const owners = new Map<string, Uint8Array>();
    const note = (ownerKey: Uint8Array): void => void owners.set(Buffer.from(ownerKey).toString('latin1'), ownerKey);
    // The serial moves with every change, so the apex is always among them.
    note(new Uint8Array(0));
    for (const sequence of sequences) {
      for (const ownerKey of source.touchedOwners(sequence)) {
        note(ownerKey);
        for (const ancestor of affectedAncestors(served, zone, ownerKey)) note(ancestor);
      }
    }
    for (const ownerKey of owners.values()) recompile(served, zone, ownerKey);
  }

  function applySettings(zone: number): void {
    const served = zones.get(zone);
    const facts = source.zoneFacts(zone);
    if (!served || !facts || changesManyOwners(served.facts, facts)) {
      replaceZone(zone);
      return;
    }
    served.facts = facts;
    recompile(served, zone, new Uint8Array(0));
  }

  function applyBatch(changes: readonly Change[]): void {
    const byZone = new Map<number, Change[]>();
    for (const change of changes) {
      const known = byZone.get(change.zone);
      if (known) known.push(change);
      else byZone.set(change.zone, [change]);
    }
    for (const [zone, list] of byZone) {
      const whole = list.some(
        ({ kind }) => kind === 'zone-added' || kind === 'zone-removed' || kind === 'zone-replaced',
      );
      const settings = list.some(({ kind }) => kind === 'settings' || kind === 'derived');
      const records = list.filter(({ kind }) => kind === 'rrs').map(({ sequence }) => sequence);
      if (whole) replaceZone(zone);
      else {
        if (settings) applySettings(zone);
        if (records.length > 0) applyRecords(zone, records);
      }
    }
    writer.commit();
  }

  function loadAll(): number {
    applied = source.lastChange();
    let records = 0;
    // Zones that are served but no longer stored find nothing to load, and go.
    for (const zone of new Set([...source.servedZones(), ...zones.keys()])) {
      records += replaceZone(zone);
      // One zone at a time: what is staged stays small.
      writer.commit();
    }
    return records;
  }

  function applyNext(): number {
    // Old changes are dropped after a while; whoever was away longer begins anew.
    if (source.firstChange() > applied + 1) {
      loadAll();
      return 0;
    }
    const changes = source.changesAfter(applied, BATCH);
    if (changes.length > 0) {
      applyBatch(changes);
      applied = changes.at(-1)!.sequence;
    }
    return changes.length;
  }

  return {
    loadAll: () => source.snapshot(loadAll),
    catchUp() {
      return source.snapshot(() => {
        let count = 0;
        for (let more = applyNext(); more > 0; more = applyNext()) count += more;
        return count;
      });
    },
    appliedChange: () => applied,
    zoneCount: () => zones.size,
  };
}
