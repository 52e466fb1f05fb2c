/**
 * NOTIFY from primaries (RFC 1996), in the DNS process: it checks who sends it, answers, and tells the admin process which zone
 * to refresh, seldom enough that a flood costs nothing.
 */

import { equalBytes } from '../../base/bytes.js';
import { messageOf } from '../../base/errors.js';
import { parseIP, parsePeerAddress, storedCidrSet } from '../../base/ip.js';
import type { Logger } from '../../base/log.js';
import { sampleReports } from '../../base/sample-reports.js';
import { Class, Rcode, Type } from '../../dns/codes.js';
import { type ReadMessage, readMessage } from '../../dns/message.js';
import { nameEquals, toFqdn } from '../../dns/name.js';
import { serialIsAfter } from '../../dns/serial.js';
import { findTsig, TsigError } from '../../dns/tsig.js';
import { isAnswered } from '../../serving/zone-state.js';
import { transferAclsOfAccount } from '../../store/secondary/acls.js';
import { findIncoming, primariesOfZone } from '../../store/secondary/incoming.js';
import { findZoneByName, type ZoneRow } from '../../store/zones/zones.js';
import { type AccountKey, checkRequest, type KeyChecker } from '../keys.js';
import { replyTo, replyToBadSignature, signReply } from '../reply.js';
import { soaOf } from './reading.js';

export interface NotifyReceiverOptions extends KeyChecker {
  readonly log: Logger;
  /** A zone (store number) may have a newer version. */
  readonly onNotified: (zone: number) => void;
}

export interface NotifyReceiver {
  /** The answer to a NOTIFY from this address; undefined: there must be none. Never throws. */
  answer(request: Uint8Array, address: string): Uint8Array | undefined;
  close(): void;
}

/** Milliseconds between two refreshes of a zone; NOTIFY that comes meanwhile is one more at the end. */
const REST_MS = 1000;
/** Zones that are remembered. */
const MOST_ZONES = 100_000;
/** The bit AA in the third octet: answers to NOTIFY have it (RFC 1996 §4.7). */
const AUTHORITATIVE = 0x04;

export function createNotifyReceiver(options: NotifyReceiverOptions): NotifyReceiver {
  const { store, clock, log } = options;
  const tell = coalesce(options);

  const answer = (request: Uint8Array, address: string): Uint8Array | undefined => {
    const message = readMessage(request);
    if (!message) return undefined;
    const tsig = findTsig(request);
    const { name, type, class: questionClass } = message.question;
    if (tsig === 'malformed' || type !== Type.soa) return replyTo(message, Rcode.formErr);
    const zone = findZoneByName(store, toFqdn(name));
    const row = zone && isAnswered(zone) && questionClass === Class.in ? findIncoming(store, zone.seq) : undefined;
    if (!zone || !row) return replyTo(message, Rcode.notAuth);
    let key: AccountKey | undefined;
    if (tsig !== 'none') {
      const checked = checkRequest(options, zone.account, request, tsig);
      if (checked.error !== TsigError.none) return replyToBadSignature(message, tsig, checked, clock);
      key = checked.key;
    }
    const signed = key && tsig !== 'none' ? { key, tsig } : undefined;
    if (!mayNotify(options, zone, address, key)) {
      log.debug({ zone: zone.name, address }, 'NOTIFY was refused: it does not come from a primary of the zone');
      return signReply(replyTo(message, Rcode.refused), signed, clock);
    }
    if (isNews(message, row.serial)) tell.zone(zone.seq);
    const reply = replyTo(message, Rcode.noError);
    reply[2]! |= AUTHORITATIVE;
    return signReply(reply, signed, clock);
  };

  const admit = sampleReports();
  return {
    answer(request, address) {
      try {
        return answer(request, address);
      } catch (error) {
        // After a start, the keys of secrets are not there at once: without an answer the primary sends it again.
        const seen = admit();
        if (seen !== undefined) log.warn({ error: messageOf(error), seen }, 'a NOTIFY was not answered');
        return undefined;
      }
    },
    close: tell.close,
  };
}

/** A primary may by its key or its address, and so may the networks of the account. */
function mayNotify(
  { store }: NotifyReceiverOptions,
  zone: ZoneRow,
  address: string,
  key: AccountKey | undefined,
): boolean {
  const primaries = primariesOfZone(store, zone.seq);
  if (key) return primaries.some(({ tsig }) => tsig === key.seq);
  const source = parsePeerAddress(address);
  if (!source) return false;
  if (primaries.some(({ ip }) => ip !== null && equalBytes(parseIP(ip) ?? new Uint8Array(0), source))) return true;
  return storedCidrSet(transferAclsOfAccount(store, zone.account).map((acl) => acl.ip_range)).contains(source);
}

/** Whether the message names no serial, or a newer one than the stored (RFC 1996 §3.11). */
function isNews({ answers, question }: ReadMessage, stored: number | null): boolean {
  const soa = answers.find(({ type, owner }) => type === Type.soa && nameEquals(owner, question.name));
  return !soa || stored === null || serialIsAfter(soaOf(soa).serial, stored);
}

/** Tells of each zone at once, and then no more than once in {@link REST_MS}. */
function coalesce({ clock, onNotified }: NotifyReceiverOptions) {
  const resting = new Map<number, { again: boolean; readonly cancel: () => void }>();
  const begin = (zone: number): void => {
    onNotified(zone);
    const cancel = clock.after(REST_MS, () => {
      const again = resting.get(zone)?.again === true;
      resting.delete(zone);
      if (again) begin(zone);
    });
    resting.set(zone, { again: false, cancel });
  };
  return {
    zone(zone: number): void {
      const known = resting.get(zone);
      if (known) known.again = true;
      else if (resting.size < MOST_ZONES) begin(zone);
    },
    close(): void {
      for (const { cancel } of resting.values()) cancel();
      resting.clear();
    },
  };
}
