/** What bounds an expression, so that neither reading nor evaluating one takes long whatever it says. */

export interface ExpressionLimits {
  /** UTF-16 units of the text. */
  readonly length: number;
  /** Parentheses and negations inside each other. */
  readonly depth: number;
  /** Comparisons and operators. */
  readonly nodes: number;
  /** Uses of functions; 0: there are none. */
  readonly calls: number;
  /** Values of one list. */
  readonly listValues: number;
}

export const DEFAULT_LIMITS: ExpressionLimits = { length: 4096, depth: 32, nodes: 256, calls: 0, listValues: 512 };

/** The text is not an expression; `offset` counts UTF-16 units from its beginning. */
export interface ExpressionFault {
  readonly offset: number;
  readonly message: string;
}

/** Carries a fault out of the recursion of parser and compiler; nothing outside of this directory sees it. */
export class FaultFound extends Error {
  readonly fault: ExpressionFault;

  constructor(offset: number, message: string) {
    super(message);
    this.fault = { offset, message };
  }
}
