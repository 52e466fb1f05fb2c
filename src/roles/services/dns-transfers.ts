/** Transfers of the DNS process, and answers to queries that engines defer. */
import { createNameMarks, markNames } from '../../answer/name-marks.js';
import type { AnswerDeferred, GroupOfDeferred } from '../../answer/transport.js';
import type { Clock } from '../../base/clock.js';
import { parseCidrSet } from '../../base/ip.js';
import type { Logger } from '../../base/log.js';
import type { CompactAnswerer } from '../../compact/answerer.js';
import type { Settings } from '../../config/schema.js';
import { Opcode } from '../../dns/codes.js';
import { findTsig } from '../../dns/tsig.js';
import type { ServingSettings } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import { incomingApexes, incomingVersion } from '../../store/secondary/incoming.js';
import { tsigKeyNames, tsigVersion } from '../../store/secondary/tsig-keys.js';
import { createNotifyReceiver } from '../../transfer/in/notified.js';
import { createTransfers, type Transfers } from '../../transfer/out/transfers.js';
import { answerSigned, groupOfSigned } from '../../transfer/signed-query.js';
import { createForwarder, type Forwarder, type ForwarderOptions } from '../../transfer/update/forward.js';
import type { Vault } from '../../vault/vault.js';

export interface DnsTransfersOptions {
  readonly settings: Settings;
  readonly store: Store;
  readonly serving: ServingSettings;
  readonly udpSize: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** Opens TSIG secrets. */
  readonly vault: Vault;
  readonly onTransferred: (zone: number, address: string) => void;
  /** Has the admin process answer a message. */
  readonly relay: ForwarderOptions['relay'];
  /** A primary has sent NOTIFY for a zone (store number). */
  readonly onNotified: (zone: number) => void;
}

export interface DnsTransfers extends Pick<Transfers, 'answer' | 'close'>, Pick<Forwarder, 'samples'> {
  /** Shared with the engines of all threads. */
  readonly keyNames: SharedArrayBuffer;
  readonly secondaryNames: SharedArrayBuffer;
  /** `compact`: answers what needs signatures. */
  answerDeferred(compact: CompactAnswerer): AnswerDeferred;
  readonly groupOfDeferred: GroupOfDeferred;
  /** Something was committed: the names of keys may have changed. */
  wake(): void;
  /** Why these names could not be read at the last look; undefined when they could. */
  failure(): unknown;
}

/** Milliseconds between two looks at the names of keys, in case a wake-up was lost. */
const LOOK_MS = 5000;

export function createDnsTransfers(options: DnsTransfersOptions): DnsTransfers {
  const { settings, store, serving, udpSize, clock, log, vault, onTransferred, relay, onNotified } = options;
  const keyNames = createNameMarks();
  const secondaryNames = createNameMarks();
  const names = followNames(
    [
      { version: () => tsigVersion(store), mark: () => markNames(keyNames, tsigKeyNames(store)) },
      { version: () => incomingVersion(store), mark: () => markNames(secondaryNames, incomingApexes(store)) },
    ],
    log,
  );
  const cancel = clock.inStep(LOOK_MS, names.look);
  const allowed = parseCidrSet(settings.transferAllow);
  const transfers = createTransfers({
    store,
    dataDir: settings.dataDir,
    serving,
    vault,
    allowed,
    clock,
    log,
    onTransferred,
  });
  const updates = createForwarder({ store, vault, clock, log, relay });
  const notified = createNotifyReceiver({ store, vault, clock, log, onNotified });
  return {
    keyNames,
    secondaryNames,
    answer: transfers.answer,
    samples: () => [...updates.samples(), ...transfers.samples()],
    answerDeferred: (compact) => (request, transport, address, port) => {
      const opcode = opcodeOf(request);
      if (opcode === Opcode.update) return updates.answer(request, address);
      if (opcode === Opcode.notify) return notified.answer(request, address);
      if (findTsig(request) === 'none') return compact.answerDeferred(request, transport, address, port);
      return answerSigned({ store, vault, clock, log, answer: compact.answer, udpSize }, request, transport);
    },
    groupOfDeferred(request) {
      if (findTsig(request) === 'none') return opcodeOf(request) === Opcode.notify ? 'notify' : undefined;
      try {
        return groupOfSigned(store, request);
      } catch {
        // Whoever answers it meets the same failure, and says so.
        return undefined;
      }
    },
    wake: names.look,
    failure: names.failure,
    async close() {
      cancel();
      notified.close();
      await transfers.close();
    },
  };
}

/** Names that threads know by marks, and a number that changes with them. */
interface MarkedNames {
  version(): number;
  mark(): void;
}

/**
 * Marks the names that have changed since the last look; the first look throws what the store throws. Later, the former names stay,
 * and the next look tries again.
 */
function followNames(all: readonly MarkedNames[], log: Logger) {
  const known = new Map<MarkedNames, number>();
  let failure: unknown;
  const mark = (): void => {
    for (const names of all) {
      const version = names.version();
      if (known.get(names) === version) continue;
      names.mark();
      known.set(names, version);
    }
  };
  mark();
  return {
    look(): void {
      try {
        mark();
        if (failure !== undefined) log.info('the names of keys and secondary zones can be read again');
        failure = undefined;
      } catch (error) {
        if (failure === undefined) {
          log.error({ err: error }, 'the names of keys and secondary zones cannot be read; the former ones stay');
        }
        failure = error;
      }
    },
    failure: () => failure,
  };
}

function opcodeOf(request: Uint8Array): number {
  return (request[2]! >>> 3) & 15;
}
