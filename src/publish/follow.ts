/**
 * The follower of the change log: what other processes commit becomes visible here, whole changes only. Touched owners are read
 * again and recompiled; anything larger is loaded aside. Applying a change twice gives the same image, so reading rows that are
 * newer than the change at hand does no harm.
 */
import { equalBytes } from '../base/bytes.js';
import { nameOfOwnerKey } from '../dns/name.js';
import type { ImageWriter } from '../image/writer.js';
import type { ServingZone } from '../serving/zone.js';
import type { ZoneFacts } from '../zone/derive/owner.js';
import { loadZone } from './load.js';
import type { Change, ZoneSource } from './source.js';

/** Changes read at once. */
const BATCH = 1000;

interface LoadedZone {
  /** Number in the image. */
  number: number;
  zone: ServingZone;
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

export function createFollower(source: ZoneSource, writer: ImageWriter): Follower {
  const zones = new Map<number, LoadedZone>();
  let applied = 0;

  function replaceZone(seq: number): number {
    const zone = source.zone(seq);
    const loaded = zones.get(seq);
    if (!zone) {
      if (loaded) writer.removeZone(loaded.number);
      zones.delete(seq);
      return 0;
    }
    const { number, records } = loadZone(writer, zone.facts.apex, source.owners(zone));
    writer.publishZone(number, loaded?.number);
    zones.set(seq, { number, zone });
    return records;
  }

  function recompile({ number, zone }: LoadedZone, ownerKey: Uint8Array): void {
    const { apex } = zone.facts;
    const owner = nameOfOwnerKey(ownerKey, apex);
    const served = source.owner(zone, ownerKey);
    // A flattened name whose target has no addresses exists all the same.
    if (source.exists(zone, served)) writer.putNode(number, { owner, apex, rrsets: served.rrsets });
    else writer.removeNode(number, owner);
  }

  /** Names between the apex and a touched owner that exist only while something stands below them. */
  function affectedAncestors({ number, zone }: LoadedZone, ownerKey: Uint8Array): Uint8Array[] {
    const ancestors: Uint8Array[] = [];
    for (let end = ownerKey.lastIndexOf(0, ownerKey.length - 2); end >= 0; end = ownerKey.lastIndexOf(0, end - 1)) {
      ancestors.push(ownerKey.subarray(0, end + 1));
    }
    return ancestors.filter((ancestor) => {
      const node = writer.findNode(number, nameOfOwnerKey(ancestor, zone.facts.apex));
      return node === 0 || writer.rrsetCount(node) === 0 || source.owner(zone, ancestor).records.length === 0;
    });
  }

  function applyRecords(seq: number, sequences: readonly number[]): void {
    const loaded = zones.get(seq);
    const zone = source.zone(seq);
    if (!loaded || !zone) {
      replaceZone(seq);
      return;
    }
    loaded.zone = zone;
    const owners = new Map<string, Uint8Array>();
    const note = (ownerKey: Uint8Array): void => void owners.set(Buffer.from(ownerKey).toString('latin1'), ownerKey);
    // The serial moves with every change, so the apex is always among them.
    note(new Uint8Array(0));
    for (const sequence of sequences) {
      for (const ownerKey of source.touchedOwners(sequence)) {
        note(ownerKey);
        for (const ancestor of affectedAncestors(loaded, ownerKey)) note(ancestor);
      }
    }
    for (const ownerKey of owners.values()) recompile(loaded, ownerKey);
  }

  function applySettings(seq: number): void {
    const loaded = zones.get(seq);
    const zone = source.zone(seq);
    if (!loaded || !zone || changesManyOwners(loaded.zone.facts, zone.facts)) {
      replaceZone(seq);
      return;
    }
    loaded.zone = zone;
    recompile(loaded, new Uint8Array(0));
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
