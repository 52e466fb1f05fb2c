/**
 * Requests to origins whose responses are probably for themselves alone, so that nobody else looks for them: nothing is kept for them but
 * that an unsafe request makes their responses outdated.
 */
import { type InRow, Row } from '../../base/lists/row.js';

export interface OpenPassage extends InRow<OpenPassage> {
  readonly key: string;
  /** See `Fill`. */
  isOutdated: boolean;
}

/** Of all zones, so that an unsafe request looks through few of those of others. */
const ROWS = 64;

export class OpenPassages {
  private readonly rows = Array.from({ length: ROWS }, () => new Row<OpenPassage>());

  add(zone: number, passage: OpenPassage): void {
    this.rows[zone % ROWS]!.add(passage);
  }

  delete(passage: OpenPassage): void {
    passage.row?.delete(passage);
  }

  /** Those of a key are outdated. */
  outdate(zone: number, key: string): void {
    for (const passage of this.rows[zone % ROWS]!) if (passage.key === key) passage.isOutdated = true;
  }
}
