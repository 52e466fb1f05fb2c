/** What can go wrong with the store, as values that callers can tell apart. */

/** A constraint of the schema refused the rows; `constraint` is SQLite's text, such as `UNIQUE constraint failed: zones.id`. */
export class StoreConflict extends Error {
  constructor(readonly constraint: string) {
    super(`The rows break a rule of the database: ${constraint}`);
    this.name = 'StoreConflict';
  }
}

/** Another writer held the lock for longer than the busy timeout. Trying again is safe: nothing was written. */
export class StoreBusy extends Error {
  constructor() {
    super('The database is busy: another process is writing to it.');
    this.name = 'StoreBusy';
  }
}

/** The disk or a quota is full. Nothing was written. */
export class StoreFull extends Error {
  constructor() {
    super('The disk is full: the change could not be stored.');
    this.name = 'StoreFull';
  }
}

/** The database file is damaged, or the disk does not give it back as it was written. */
export class StoreCorrupt extends Error {
  constructor(detail: string) {
    super(`The database is damaged or cannot be read from disk: ${detail}`);
    this.name = 'StoreCorrupt';
  }
}

/**
 * Why an entry of the log was not applied: `gap`, entries before it are missing here; `history`, this copy followed other
 * entries than the log has; `schema`, it was written for another version of the schema; `damaged`, it cannot be read, or holds a
 * statement that no entry may hold; `difference`, its statements have another effect here than where they were written.
 */
export type EntryRefusal = 'gap' | 'history' | 'schema' | 'damaged' | 'difference';

/** An entry of the log cannot be applied to this copy. Nothing of it was. */
export class EntryRefused extends Error {
  constructor(
    readonly reason: EntryRefusal,
    message: string,
  ) {
    super(message);
    this.name = 'EntryRefused';
  }
}
