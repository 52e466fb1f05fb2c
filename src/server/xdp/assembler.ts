/** A small assembler of eBPF programs (RFC 9669): instructions, and jumps to labels. */

/** A register: r1 has the context at the start, r10 the stack. */
export type Register = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10;

/** Octets of memory that one instruction reads. */
const LOADS = { 1: 0x71, 2: 0x69, 4: 0x61, 8: 0x79 } as const;
/** Comparisons of 64 bits with a number, and with a register. */
const WITH_NUMBER = { '==': 0x15, '!=': 0x55, '>': 0x25, '<': 0xa5, '>=': 0x35, '&': 0x45 } as const;
const WITH_REGISTER = { '==': 0x1d, '!=': 0x5d, '>': 0x2d } as const;
const EXIT = 0x95;
const INSTRUCTION = 8;

export class Assembler {
  private readonly octets: number[] = [];
  private readonly labels = new Map<string, number>();
  private readonly jumps: { readonly at: number; readonly label: string }[] = [];

  /** `to` = `from`. */
  copy(to: Register, from: Register): void {
    this.emit(0xbf, to, from, 0, 0);
  }

  set(to: Register, value: number): void {
    this.emit(0xb7, to, 0, 0, value);
  }

  add(to: Register, value: number): void {
    this.emit(0x07, to, 0, 0, value);
  }

  and(to: Register, value: number): void {
    this.emit(0x57, to, 0, 0, value);
  }

  /** `to` -= `from`. */
  subtract(to: Register, from: Register): void {
    this.emit(0x1f, to, from, 0, 0);
  }

  /** Reads memory of the machine, in its order of octets. */
  load(to: Register, from: Register, offset: number, octets: keyof typeof LOADS): void {
    this.emit(LOADS[octets], to, from, offset, 0);
  }

  /** Turns two octets in the order of the network into a number. */
  fromNetwork(register: Register): void {
    this.emit(0xdc, register, 0, 0, 16);
  }

  /** Eight octets as memory has them. */
  setWide(to: Register, octets: Uint8Array): void {
    const view = new DataView(octets.buffer, octets.byteOffset, 8);
    this.emit(0x18, to, 0, 0, view.getInt32(0, true));
    this.emit(0, 0, 0, 0, view.getInt32(4, true));
  }

  setMap(to: Register, fd: number): void {
    this.emit(0x18, to, 1, 0, fd);
    this.emit(0, 0, 0, 0, 0);
  }

  /** Jumps to the label if it holds. */
  when(register: Register, comparison: keyof typeof WITH_NUMBER, value: number, label: string): void {
    this.jump(WITH_NUMBER[comparison], register, 0, value, label);
  }

  whenRegister(a: Register, comparison: keyof typeof WITH_REGISTER, b: Register, label: string): void {
    this.jump(WITH_REGISTER[comparison], a, b, 0, label);
  }

  /** The same for the lower half of the register. */
  whenHalf(register: Register, value: number, label: string): void {
    this.jump(0x16, register, 0, value, label);
  }

  go(label: string): void {
    this.jump(0x05, 0, 0, 0, label);
  }

  call(helper: number): void {
    this.emit(0x85, 0, 0, 0, helper);
  }

  exit(): void {
    this.emit(EXIT, 0, 0, 0, 0);
  }

  label(name: string): void {
    this.labels.set(name, this.octets.length / INSTRUCTION);
  }

  /** Jumps lead forward only, so that every program ends. */
  assemble(): Uint8Array {
    const program = Uint8Array.from(this.octets);
    const view = new DataView(program.buffer);
    for (const { at, label } of this.jumps) view.setInt16(at * INSTRUCTION + 2, this.labels.get(label)! - at - 1, true);
    return program;
  }

  private jump(code: number, register: Register, other: Register, value: number, label: string): void {
    this.jumps.push({ at: this.octets.length / INSTRUCTION, label });
    this.emit(code, register, other, 0, value);
  }

  private emit(code: number, to: Register, from: Register, offset: number, value: number): void {
    const octets = new DataView(new ArrayBuffer(INSTRUCTION));
    octets.setUint8(0, code);
    octets.setUint8(1, (from << 4) | to);
    octets.setInt16(2, offset, true);
    octets.setInt32(4, value, true);
    this.octets.push(...new Uint8Array(octets.buffer));
  }
}
