import { open } from 'lmdb'; import fs from 'node:fs';
const dir=process.argv[3]||'/work/side/.engine-scratch/t';
const modes={plain:{overlappingSync:false},overlap:{overlappingSync:true},nosync:{noSync:true,overlappingSync:false},writemap:{useWritemap:true,overlappingSync:false},nometa:{noMetaSync:true,overlappingSync:false}};
fs.rmSync(dir,{recursive:true,force:true});fs.mkdirSync(dir,{recursive:true});
// fsync
{const fd=fs.openSync(dir+'/x','w');const b=Buffer.alloc(4096,1);const a=[];for(let i=0;i<200;i++){fs.writeSync(fd,b);const t=process.hrtime.bigint();fs.fdatasyncSync(fd);a.push(Number(process.hrtime.bigint()-t)/1e3)}a.sort((x,y)=>x-y);console.log('fsync p50',a[100],'p99',a[198]);}
const keyEncoder={writeKey(k,t,p){t[p]=k/2**40;t[p+1]=k/2**32;t[p+2]=k>>>24;t[p+3]=k>>>16;t[p+4]=k>>>8;t[p+5]=k;return p+6},readKey(b,s){return b.readUIntBE(s,6)}};
for(const m of (process.argv[2]||'plain,overlap,nosync,writemap,nometa').split(',')){
 fs.rmSync(dir+'/'+m,{recursive:true,force:true});
 const root=open({path:dir+'/'+m,noSubdir:false,maxDbs:10,encoding:'binary',cache:false,...modes[m]});
 const H=root.openDB('h',{encoding:'binary',keyEncoder}),P=root.openDB('p',{encoding:'binary',keyEncoder});
 const hb=Buffer.alloc(304,1),pb=Buffer.alloc(287,2);let id=0;const N=64,B=400;const lat=[];let cpu=0;
 const t0=process.hrtime.bigint();
 for(let b=0;b<B;b++){const t=process.hrtime.bigint();let t1;
  root.transactionSync(()=>{for(let i=0;i<N;i++){id++;H.putSync(id,hb);P.putSync(id,pb)} t1=process.hrtime.bigint()});
  if(m==='overlap')await root.flushed;
  const e=process.hrtime.bigint();cpu+=Number(t1-t)/1e3;lat.push(Number(e-t)/1e3)}
 const s=Number(process.hrtime.bigint()-t0)/1e9;lat.sort((a,b)=>a-b);
 console.log(m,'tasks/s',(N*B/s)|0,'p50 us',lat[B/2]|0,'p99',lat[B*.99|0]|0,'put us each',(cpu/B/N/2).toFixed(2),'file MB',fs.statSync(dir+'/'+m+'/data.mdb').size/1e6, 'iowr');
 await root.close();
}
