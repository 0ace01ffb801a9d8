// Selects the next peer to send to: peers with room form a ring, the others are kept beside it. A
// choice costs the same with a thousand full peers as with none.

export interface Turn {
  /** Its index here; -1 outside. */
  slot: number;
}

export class RoundRobin<Member extends Turn> {
  /** Members with room first, then the others. */
  private readonly members: Member[] = [];
  private readyCount = 0;
  private cursor = 0;

  get size(): number {
    return this.members.length;
  }

  add(member: Member): void {
    member.slot = this.members.length;
    this.members.push(member);
    this.markReady(member);
  }

  remove(member: Member): void {
    if (member.slot < 0) return;
    this.markFull(member);
    this.swap(member.slot, this.members.length - 1);
    this.members.pop();
    member.slot = -1;
  }

  /** The next member with room. */
  next(): Member | undefined {
    if (this.readyCount === 0) return undefined;
    if (this.cursor >= this.readyCount) this.cursor = 0;
    return this.members[this.cursor++];
  }

  markFull(member: Member): void {
    if (member.slot < 0 || member.slot >= this.readyCount) return;
    this.readyCount--;
    this.swap(member.slot, this.readyCount);
  }

  markReady(member: Member): void {
    if (member.slot < this.readyCount) return;
    this.swap(member.slot, this.readyCount);
    this.readyCount++;
  }

  private swap(left: number, right: number): void {
    const a = this.members[left] as Member;
    const b = this.members[right] as Member;
    this.members[left] = b;
    this.members[right] = a;
    b.slot = left;
    a.slot = right;
  }
}
