/** A row whose members know their neighbours: coming and going takes no memory, at whatever place. */

/** Each is in one row at a time. */
export interface InRow<Member extends InRow<Member>> {
  row: Row<Member> | undefined;
  before: Member | undefined;
  after: Member | undefined;
}

export class Row<Member extends InRow<Member>> {
  first: Member | undefined;
  size = 0;
  private last: Member | undefined;

  has(member: Member): boolean {
    return member.row === this;
  }

  /** Behind all others. It must not be in any row. */
  add(member: Member): void {
    member.row = this;
    member.before = this.last;
    if (this.last) this.last.after = member;
    else this.first = member;
    this.last = member;
    this.size++;
  }

  /** False: it is not in this row. */
  delete(member: Member): boolean {
    if (member.row !== this) return false;
    const { before, after } = member;
    if (before) before.after = after;
    else this.first = after;
    if (after) after.before = before;
    else this.last = before;
    member.row = undefined;
    member.before = undefined;
    member.after = undefined;
    this.size--;
    return true;
  }

  /** From the first to the last. The one that was given may leave meanwhile, others must not. */
  *[Symbol.iterator](): Generator<Member> {
    for (let member = this.first; member; ) {
      const { after } = member;
      yield member;
      member = after;
    }
  }
}
