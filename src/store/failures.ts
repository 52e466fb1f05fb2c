/** Failures of the store, as typed errors. */
import { messageOf } from '../base/errors.js';

/**
 * A constraint of the schema rejected the rows; `constraint` is SQLite's text, such as `UNIQUE constraint failed:
 * zones.id`.
 */
export class StoreConflict extends Error {
  constructor(readonly constraint: string) {
    super(`The rows violate a constraint of the database: ${constraint}`);
    this.name = 'StoreConflict';
  }
}

/** Another writer held the lock for longer than the busy timeout. Nothing was written, so the caller may retry. */
export class StoreBusy extends Error {
  constructor(message = 'The database is busy: another process is writing to it.') {
    super(message);
    this.name = 'StoreBusy';
  }
}

/** The log that all copies follow does not answer, or takes no entry. Nothing was written, so the caller may retry. */
export class LogUnavailable extends StoreBusy {
  /** `remedy`: what the operator can do about it, if it is not to wait. */
  constructor(
    message: string,
    readonly remedy?: string,
  ) {
    super(message);
    this.name = 'LogUnavailable';
  }
}

/**
 * The log was asked, and its answer did not come: what was asked may have been done, or may be done yet. A write may have been
 * stored; the copies then get it as soon as the log is back.
 */
export class OutcomeUnknown extends LogUnavailable {
  constructor(message: string) {
    super(message);
    this.name = 'OutcomeUnknown';
  }
}

/** Whether what was written may be there although this error was thrown. */
export function mayHaveWritten(error: unknown): boolean {
  return error instanceof OutcomeUnknown || error instanceof WriteUnconfirmed;
}

/** The log answers, but takes no entry of this copy. */
export function notWritten(reason: unknown): LogUnavailable {
  return new LogUnavailable(`The log of the cluster cannot be written: ${messageOf(reason)}`);
}

/** The disk is full. Nothing was written. */
export class StoreFull extends Error {
  constructor(message = 'The disk is full: the change could not be stored.') {
    super(message);
    this.name = 'StoreFull';
  }
}

/** A quota, a limit on the size of files, or the disk itself takes no more. Nothing was written. */
export class StoreRefused extends StoreFull {
  constructor(detail: string) {
    super(`The system refused to write the database (${detail}): the change could not be stored.`);
    this.name = 'StoreRefused';
  }
}

/**
 * The disk did not confirm a write. It was taken back here, but after a crash it may be there. Look before writing again.
 */
export class WriteUnconfirmed extends Error {
  constructor(detail: string) {
    super(`The disk did not confirm a change (${detail}): after a crash of this machine, it may be stored or not.`);
    this.name = 'WriteUnconfirmed';
  }
}

/** The database file is damaged, or the disk does not return what was written. */
export class StoreCorrupt extends Error {
  constructor(detail: string) {
    super(`The database is damaged or cannot be read from disk: ${detail}`);
    this.name = 'StoreCorrupt';
  }
}

/**
 * Why a log entry was not applied. `gap`: entries before it are missing in this copy. `history`: this copy has applied
 * other entries than the log has. `schema`: it was written for another schema version. `damaged`: it cannot be read, or
 * contains a forbidden statement. `difference`: its statements have another effect here than on its author.
 */
export type EntryRefusal = 'gap' | 'history' | 'schema' | 'damaged' | 'difference';

/** The octets of a log entry are not those of statements. */
export class BodyDamaged extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BodyDamaged';
  }
}

/** A log entry cannot be applied to this copy. Nothing of it was applied. */
export class EntryRefused extends Error {
  constructor(
    readonly reason: EntryRefusal,
    message: string,
    /** The number of the entry. */
    readonly entry: number,
  ) {
    super(message);
    this.name = 'EntryRefused';
  }
}
