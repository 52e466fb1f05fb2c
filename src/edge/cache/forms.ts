/** The compressed forms of a stored body, one for each coding: made when a client first wants one, and kept with the body. */
import type { Coding } from '../../http/content-coding.js';
import type { GrowingBody } from './growing-body.js';

export interface Form {
  readonly body: readonly Uint8Array[];
  readonly size: number;
}

export class Forms {
  private readonly whole = new Map<Coding, Form | 'useless'>();
  private readonly growing = new Map<Coding, GrowingBody>();
  private kept = 0;

  /** Of all forms. */
  get octets(): number {
    return this.kept;
  }

  find(coding: Coding): Form | undefined {
    const form = this.whole.get(coding);
    return form === 'useless' ? undefined : form;
  }

  /** Whether the form in this coding was not smaller than the body. */
  isUseless(coding: Coding): boolean {
    return this.whole.get(coding) === 'useless';
  }

  /** A form that is being made, which others may read, too. */
  findGrowing(coding: Coding): GrowingBody | undefined {
    const body = this.growing.get(coding);
    return body?.isKept ? body : undefined;
  }

  begin(coding: Coding, body: GrowingBody): void {
    this.growing.set(coding, body);
  }

  /** `form`: undefined if it was not completed. `size`: that of the body. */
  end(coding: Coding, form: Form | undefined, size: number): void {
    this.growing.delete(coding);
    if (!form || this.whole.has(coding)) return;
    const isUseful = form.size < size;
    this.whole.set(coding, isUseful ? form : 'useless');
    if (isUseful) this.kept += form.size + form.body.length * 64;
  }
}
